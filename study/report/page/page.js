'use strict';

// Builds the page from its data: title, contents, sections; and the button for light and dark.

const figures = [];

function paragraphs(texts) {
  return texts.map((text) => element('p', {}, text));
}

// What c3sim was asked, to be asked again.
function origin(data) {
  if (!data.command) return [];
  return [element('div', {className: 'origin'}, element('span', {}, `Asked of c3sim ${data.version}:`), command(data.command))];
}

function headlines(figures) {
  const entry = ({label, value, beside}) =>
    element('div', {}, element('dt', {}, label), element('dd', {}, element('strong', {}, value), ' ' + beside));
  return figures.length ? [element('dl', {className: 'headlines'}, ...figures.map(entry))] : [];
}

function section(data) {
  const node = element('section', {id: data.id});
  if (data.heading) node.append(element('h2', {}, data.heading));
  let panels = null;
  for (const chart of data.charts) {
    const figure = new Figure(chart);
    figures.push(figure);
    if (!chart.panel) {
      panels = null;
      node.append(figure.root);
      continue;
    }
    if (!panels) node.append(panels = element('div', {className: 'panels'}));
    panels.append(figure.root);
  }
  if (data.table) node.append(new DataTable(data.table).root);
  return node;
}

const linkTo = (id) => '#' + encodeURIComponent(id);

function contents(sections) {
  const entry = (data) => element('li', {}, element('a', {href: linkTo(data.id)}, data.heading));
  return element('ul', {}, ...sections.filter((data) => data.heading).map(entry));
}

function drawAll() {
  for (const figure of figures) figure.draw();
}

const root = document.documentElement;
const darkSystem = matchMedia('(prefers-color-scheme: dark)');

function isDark() {
  return root.style.colorScheme ? root.style.colorScheme === 'dark' : darkSystem.matches;
}

function setTheme(scheme) {
  root.style.colorScheme = scheme;
  document.getElementById('page-theme').textContent = isDark() ? 'Light theme' : 'Dark theme';
  drawAll();
}

function build() {
  const data = JSON.parse(document.getElementById('page-data').textContent);
  document.title = data.title;
  document.getElementById('page-title').textContent = data.title;
  document.getElementById('page-lead').append(
    ...headlines(data.headlines), ...paragraphs(data.lead), ...origin(data));
  const navigation = document.getElementById('page-contents');
  navigation.append(contents(data.sections));
  navigation.hidden = data.sections.length < 2;
  document.getElementById('page-main').append(...data.sections.map(section));
  const button = document.getElementById('page-theme');
  button.hidden = false;
  button.onclick = () => setTheme(isDark() ? 'light' : 'dark');
  setTheme('');
  darkSystem.onchange = () => setTheme(root.style.colorScheme);

  let scheme = '';
  addEventListener('beforeprint', () => { scheme = root.style.colorScheme; setTheme('light'); });
  addEventListener('afterprint', () => setTheme(scheme));
  addEventListener('resize', () => requestAnimationFrame(() => figures.forEach((figure) => figure.fit())));
  const asked = data.sections.find(({id}) => linkTo(id) === location.hash);
  if (asked) document.getElementById(asked.id).scrollIntoView();
  root.dataset.ready = 'true';
}

build();
