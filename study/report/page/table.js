'use strict';

// Tables that sort, filter, and show their first rows until a reader asks for more. Text from data becomes text nodes.

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

const collator = new Intl.Collator('en', {numeric: true});

// Numbers come before text, blanks last, whichever way a table is sorted.
function compareCells(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return direction * (typeof a === 'number' ? a - b : collator.compare(a, b));
}

// Up to four digits, for numbers that nothing is said of.
function readable(value) {
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// The same of a tick, which has room for no more than it needs: "1e6".
function tickText(value) {
  return Math.abs(value) >= 1e6 ? Number(value.toPrecision(4)).toExponential().replace('e+', 'e') : readable(value);
}

// Sizes go by powers of two: "64 KiB".
function sizeText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const unit = Math.floor(Math.log2(Math.max(Math.abs(bytes), 1)) / 10 + 1e-9);
  const shown = Math.min(unit, units.length - 1);
  return `${readable(bytes / 1024 ** shown)} ${units[shown]}`;
}

function cellText(cell, column) {
  if (cell === null) return '';
  if (typeof cell !== 'number') return cell;
  return column.decimals === undefined ? readable(cell) : cell.toFixed(column.decimals);
}

class DataTable {
  static sliceRows = 150;  // that are laid out at once: a reader's next key or click never waits for more
  static stepRows = 100;

  constructor(data) {
    this.data = data;
    this.limit = data.first;
    this.sorted = {column: -1, direction: 1};
    this.words = [];
    this.chosen = new Map();
    this.texts = null;  // of every row in lower case, made when first needed
    this.drawing = 0;

    this.body = element('tbody');
    this.count = element('output', {className: 'count', ariaLive: 'polite'});
    this.headings = data.columns.map((column, index) => this.heading(column, index));
    this.box = element('div', {className: 'box', tabIndex: 0, role: 'region', ariaLabel: data.caption || 'Table'},
                       element('table', {}, element('thead', {}, element('tr', {}, ...this.headings)), this.body));
    this.moreButton = element('button', {type: 'button', onclick: () => this.more(DataTable.stepRows)});
    this.allButton = element('button', {type: 'button', onclick: () => this.more(Infinity)});
    this.root = element('div', {className: 'table', id: data.id || ''});
    if (data.caption) this.root.append(element('p', {className: 'caption'}, data.caption));
    const tools = this.tools();
    if (tools.childElementCount > 0) this.root.append(tools);
    this.root.append(this.box, element('div', {className: 'more'}, this.moreButton, this.allButton));
    this.update();
  }

  heading(column, index) {
    const words = [column.heading];
    if (column.unit) words.push(' ', element('span', {className: 'unit'}, column.unit));
    return element('th', {scope: 'col', className: column.numeric ? 'number' : '', ariaSort: 'none'},
                   element('button', {type: 'button', onclick: () => this.sort(index)}, ...words));
  }

  tools() {
    const tools = element('div', {className: 'tools'});
    if (this.data.filterable) {
      const input = element('input', {type: 'search', oninput: () => this.filter(input.value)});
      tools.append(element('label', {}, 'Filter', input));
    }
    this.data.columns.forEach((column, index) => {
      if (column.choice) tools.append(this.choice(column, index));
    });
    if (tools.childElementCount > 0) tools.append(this.count);
    return tools;
  }

  choice(column, index) {
    const texts = new Set(this.data.rows.map((row) => cellText(row[index], column)));
    const select = element('select', {onchange: () => this.choose(index, select)});
    select.append(element('option', {value: ''}, 'all'));
    for (const text of [...texts].sort(collator.compare)) {
      select.append(element('option', {value: '=' + text}, text === '' ? '(blank)' : text));
    }
    return element('label', {}, column.heading, select);
  }

  sort(index) {
    const again = this.sorted.column === index;
    if (again && this.sorted.direction < 0) {
      this.sorted = {column: -1, direction: 1};
    } else {
      this.sorted = {column: index, direction: again ? -1 : 1};
    }
    this.headings.forEach((cell, i) => {
      const order = this.sorted.direction > 0 ? 'ascending' : 'descending';
      cell.ariaSort = i === this.sorted.column ? order : 'none';
    });
    this.update();
  }

  filter(text) {
    this.words = text.toLowerCase().split(/\s+/).filter((word) => word);
    this.limit = this.data.first;
    this.update();
  }

  choose(index, select) {
    if (select.value === '') {
      this.chosen.delete(index);
    } else {
      this.chosen.set(index, select.value.slice(1));
    }
    this.limit = this.data.first;
    this.update();
  }

  more(rows) {
    this.limit = Math.max(this.limit, this.data.first) + rows;
    this.draw(this.body.rows.length);
    if (this.limit >= this.rows.length) this.box.focus();
  }

  matches(row, index) {
    for (const [column, text] of this.chosen) {
      if (cellText(row[column], this.data.columns[column]) !== text) return false;
    }
    return this.words.every((word) => this.texts[index].includes(word));
  }

  update() {
    const {columns, rows} = this.data;
    if (this.words.length > 0 && this.texts === null) {
      this.texts = rows.map((row) => row.map((cell, c) => cellText(cell, columns[c])).join('\n').toLowerCase());
    }
    this.rows = rows.filter((row, index) => this.matches(row, index));
    const {column, direction} = this.sorted;
    if (column >= 0) this.rows.sort((a, b) => compareCells(a[column], b[column], direction));
    this.count.value = `${this.rows.length} of ${rows.length} rows`;
    this.body.replaceChildren();
    this.draw(0);
  }

  // Rows from `first` to the limit, a slice per frame. A later call ends an earlier one.
  draw(first) {
    const drawing = ++this.drawing;
    const end = Math.min(this.limit, this.rows.length);
    this.moreButton.hidden = this.rows.length - end <= DataTable.stepRows;
    this.moreButton.textContent = `Show ${DataTable.stepRows} more`;
    this.allButton.hidden = end === this.rows.length;
    this.allButton.textContent = `Show all ${this.rows.length} rows`;
    const slice = (from) => {
      if (drawing !== this.drawing) return;
      const to = Math.min(from + DataTable.sliceRows, end);
      this.body.append(...this.rows.slice(from, to).map((row) => this.row(row)));
      if (to < end) requestAnimationFrame(() => slice(to));
    };
    slice(first);
  }

  row(cells) {
    const row = element('tr');
    this.data.columns.forEach((column, index) => {
      const text = cellText(cells[index], column);
      const cell = element('td', {className: column.numeric ? 'number' : ''});
      cell.append(column.command && text ? command(text) : text);
      row.append(cell);
    });
    return row;
  }
}

// A command line with a button that copies it. Where the browser keeps the clipboard to itself, the text is selected.
function command(text) {
  const code = element('code', {title: text}, text);
  const button = element('button', {type: 'button', ariaLabel: 'Copy the command', ariaLive: 'polite'}, 'Copy');
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = document.execCommand('copy') ? 'Copied' : 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  };
  return element('div', {className: 'command'}, code, button);
}
