'use strict';

// Charts: each kind of data becomes a figure, with its legend and its numbers in HTML and its drawing by Chart.js.

const pointStyles = ['circle', 'triangle', 'rect', 'rectRot'];
const pointStyle = (index) => pointStyles[index % pointStyles.length];
const seriesColour = (index) => (index < 0 ? '--series-grey' : `--series-${index}`);

// What a variable of the style sheet stands for in the theme that is on.
const probe = document.body.appendChild(element('span', {hidden: true}));
function colour(variable) {
  probe.style.color = `var(${variable})`;
  return getComputedStyle(probe).color;
}

function rangeText([low, high], write = readable) {
  return low === high ? write(low) : `${write(low)} to ${write(high)}`;
}

// The words of a text, in lines of so many characters where they fit.
function wrap(text, characters) {
  const lines = [];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= characters) {
      lines[last] += ' ' + word;
    } else {
      lines.push(word);
    }
  }
  return lines;
}

const longest = (texts) => Math.max(0, ...texts.map((text) => text.length));

function swatch(className, variable) {
  const node = element('span', {className: `swatch ${className}`, ariaHidden: 'true'});
  if (variable) node.style[className.startsWith('line') ? 'borderColor' : 'background'] = `var(${variable})`;
  return node;
}

function commonOptions(theme) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    plugins: {
      legend: {display: false},
      tooltip: {
        backgroundColor: theme.panel, titleColor: theme.ink, bodyColor: theme.ink, footerColor: theme.quiet,
        borderColor: theme.rule, borderWidth: 1, padding: 10, boxPadding: 5, cornerRadius: 5, usePointStyle: true,
      },
    },
  };
}

function axisStyle(theme) {
  return {
    grid: {color: theme.rule, borderColor: theme.rule, tickColor: theme.rule, tickLength: 4},
    ticks: {color: theme.quiet, padding: 4},
    title: {display: false, color: theme.quiet},
  };
}

// A line along x or y with a cap at either end, or one cap where both ends are one.
function whisker(context, horizontal, [low, high], across, cap, width, colour) {
  const path = new Path2D();
  const line = (from, fromAcross, to, toAcross) => {
    path.moveTo(...(horizontal ? [from, fromAcross] : [fromAcross, from]));
    path.lineTo(...(horizontal ? [to, toAcross] : [toAcross, to]));
  };
  if (low !== high) line(low, across, high, across);
  for (const end of [low, high]) line(end, across - cap, end, across + cap);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke(path);
}

// A chart of the page's data as a figure. It is drawn once it stands in the page, and again for another theme or width.
class Figure {
  constructor(data) {
    this.data = data;
    this.kind = {bars, points, timeline}[data.kind];
    this.hidden = new Set();  // datasets that the reader switched off
    this.chart = null;
    const label = `${data.title}. The numbers are in the table below.`;
    this.canvas = element('canvas', {role: 'img', ariaLabel: label});
    this.box = element('div', {className: 'canvas'}, this.canvas);
    this.root = element('figure', {}, element('h3', {}, data.title));
    this.root.dataset.chart = data.id;
    const measure = this.kind.measure(data);
    if (measure) this.root.append(element('p', {className: 'measure'}, measure));
    const legend = this.kind.legend(data).map((entry) => element('li', {}, ...this.entry(entry)));
    if (data.legend) legend.unshift(element('li', {className: 'legend-name'}, `${data.legend}:`));
    if (legend.length > 0) this.root.append(element('ul', {className: 'legend'}, ...legend));
    if (this.kind.controls) this.root.append(this.kind.controls(this));
    this.root.append(this.box, element('figcaption', {}, ...(data.caption ? [element('p', {}, data.caption)] : []),
                                       this.numbers()));
  }

  entry({name, swatch: mark, dataset}) {
    if (dataset === undefined) return [mark(), name];
    const button = element('button', {type: 'button', ariaPressed: 'true'}, mark(), name);
    button.onclick = () => {
      if (!this.hidden.delete(dataset)) this.hidden.add(dataset);
      button.ariaPressed = String(!this.hidden.has(dataset));
      this.draw();
    };
    return [button];
  }

  // The chart for those who cannot see it or want to copy from it; made when it is first opened.
  numbers() {
    const details = element('details', {}, element('summary', {}, 'Numbers'));
    details.addEventListener('toggle', () => {
      const table = {caption: '', filterable: false, first: 25, ...this.kind.numbers(this.data)};
      details.append(new DataTable(table).root);
    }, {once: true});
    return details;
  }

  draw() {
    this.layout = this.kind.layout(this.data, this.box.clientWidth);
    this.box.style.height = `${this.layout.height}px`;
    const theme = {};
    for (const name of ['paper', 'panel', 'ink', 'quiet', 'rule', 'link']) theme[name] = colour(`--${name}`);
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    this.chart?.destroy();
    const config = this.kind.config(this.data, this.layout, theme);
    for (const index of this.hidden) config.data.datasets[index].hidden = true;
    this.chart = new Chart(this.canvas, config);
  }

  // Chart.js follows the width by itself; a width that asks for another layout needs another drawing.
  fit() {
    const layout = this.kind.layout(this.data, this.box.clientWidth);
    if (JSON.stringify(layout) !== JSON.stringify(this.layout)) this.draw();
  }
}
