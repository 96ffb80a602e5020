'use strict';

// Bars beside or on top of each other, with published figures, values and levels drawn on them.

// Levels differ in dash and colour.
const levelStyles = [{dash: [6, 4], width: 1.25, ink: 'quiet', swatch: 'line'},
                     {dash: [2, 3], width: 2, ink: 'link', swatch: 'line dotted'}];
const levelStyle = (index) => levelStyles[index % levelStyles.length];

// What Chart.js does not draw itself. `data` is a chart of the page's data, `theme` has its colours.
function barMarks(data, theme) {
  const thickness = (bar) => (bar.horizontal ? bar.height : bar.width);
  const across = (bar) => (bar.horizontal ? bar.y : bar.x);

  const mark = (chart, bar, values) => {
    const scale = chart.scales[bar.horizontal ? 'x' : 'y'];
    const ends = values.map((value) => scale.getPixelForValue(value));
    const cap = data.stacked || values[0] === values[1] ? thickness(bar) * 0.5 + 2 : Math.min(thickness(bar) * 0.3, 6);
    whisker(chart.ctx, bar.horizontal, ends, across(bar), cap + 1, 4, theme.paper);
    whisker(chart.ctx, bar.horizontal, ends, across(bar), cap, 2, theme.ink);
  };

  // Beyond whatever the bar and its mark reach, on the side where they do; what is published follows in brackets. Less
  // of it, or nothing, where the bar is too thin.
  const write = (chart, bar, value, reach, published) => {
    const {ctx} = chart;
    ctx.font = `12px ${Chart.defaults.font.family}`;
    const texts = [value.toFixed(data.decimals)];
    if (published && published[0] === published[1]) {
      texts.unshift(`${texts[0]} (${published[0].toFixed(data.decimals)})`);
    }
    const room = bar.width + (data.stacked || data.series.length === 1 ? 8 : -4);
    const text = texts.find((each) => (bar.horizontal ? bar.height >= 11 : room >= ctx.measureText(each).width));
    if (!text) return;
    const below = value < data.baseline;
    const pixel = chart.scales[bar.horizontal ? 'x' : 'y'].getPixelForValue(reach);
    ctx.fillStyle = theme.ink;
    ctx.textAlign = bar.horizontal ? (below ? 'right' : 'left') : 'center';
    ctx.textBaseline = bar.horizontal ? 'middle' : (below ? 'top' : 'bottom');
    const gap = below ? -5 : 5;
    const at = bar.horizontal ? [pixel + gap, bar.y] : [bar.x, pixel - gap];
    // No line goes through the number.
    const {width, actualBoundingBoxAscent: above, actualBoundingBoxDescent: under} = ctx.measureText(text);
    const left = at[0] - {left: 0, center: width / 2, right: width}[ctx.textAlign];
    ctx.fillStyle = theme.paper;
    ctx.fillRect(left - 2, at[1] - above - 2, width + 4, above + under + 4);
    ctx.fillStyle = theme.ink;
    ctx.fillText(text, ...at);
  };

  const eachBar = (chart, draw) => chart.data.datasets.forEach((dataset, d) => {
    chart.getDatasetMeta(d).data.forEach((bar, i) => {
      if (Number.isFinite(across(bar))) draw(bar, dataset.data[i], dataset.published[i], dataset.reaches?.[i]);
    });
  });

  const levels = (chart) => {
    const {ctx, chartArea, options} = chart;
    const horizontal = options.indexAxis === 'y';
    data.levels.forEach((level, i) => {
      const at = chart.scales[horizontal ? 'x' : 'y'].getPixelForValue(level.value);
      const {dash, width, ink} = levelStyle(i);
      ctx.save();
      ctx.setLineDash(dash);
      const ends = horizontal ? [chartArea.top, chartArea.bottom] : [chartArea.left, chartArea.right];
      whisker(ctx, !horizontal, ends, at, 0, width, theme[ink]);
      ctx.restore();
    });
  };

  return {
    id: 'barMarks',
    afterDatasetsDraw: (chart) => {
      levels(chart);
      if (data.stacked) {
        sums(data).forEach(({sum, bottom, top}, i) => {
          const bar = chart.getDatasetMeta(0).data[i];
          mark(chart, bar, [sum, sum]);
          write(chart, bar, sum, sum < data.baseline ? bottom : top);
        });
        return;
      }
      eachBar(chart, (bar, value, published, reach) => {
        if (reach) {
          const scale = chart.scales[bar.horizontal ? 'x' : 'y'];
          const ends = reach.map((end) => scale.getPixelForValue(end));
          whisker(chart.ctx, bar.horizontal, ends, across(bar), 5, 1.25, theme.ink);
        }
        if (published) mark(chart, bar, published);
        if (value === null) return;
        const ends = [value, ...(published ?? []), ...(reach ?? [])];
        write(chart, bar, value, value < data.baseline ? Math.min(...ends) : Math.max(...ends), published);
      });
    },
  };
}

// Of stacked bars: what their parts add up to, and how far they reach below and above the axis.
function sums(data) {
  return data.labels.map((_, i) => {
    const parts = data.series.map((series) => series.values[i] ?? 0);
    const add = (values) => values.reduce((total, value) => total + value, 0);
    const [bottom, top] = [parts.filter((value) => value < 0), parts.filter((value) => value > 0)].map(add);
    return {sum: add(parts), bottom, top};
  });
}

const bars = {
  measure: (data) => data.axis,

  legend(data) {
    const entries = data.series.length === 1 ? [] : data.series.map((series, i) => ({
      name: series.name, swatch: () => swatch('', seriesColour(data.colours[i])),
    }));
    if (data.stacked) entries.push({name: 'sum', swatch: () => swatch('dash')});
    const published = data.series.flatMap((series) => series.published.filter((range) => range));
    if (published.length > 0) {
      const single = published.every(([low, high]) => low === high);
      const name = single && data.series.length === 1 ? 'published, in brackets' : 'published';
      entries.push({name, swatch: () => swatch(single ? 'dash' : 'beam')});
    }
    if (data.series.some((series) => series.reaches)) {
      entries.push({name: '90 % interval', swatch: () => swatch('beam thin')});
    }
    data.levels.forEach((level, i) => {
      const {swatch: mark, ink} = levelStyle(i);
      entries.push({name: level.name, swatch: () => swatch(mark, `--${ink}`)});
    });
    return entries;
  },

  // Upright where the labels fit below the bars, lying down where they do not.
  layout(data, width) {
    const labels = data.labels.length;
    const together = data.stacked ? 1 : data.series.length;
    const room = (width - 50) / labels;
    const word = longest(data.labels.flatMap((label) => label.split(' ')));
    if (room >= Math.max(word * 7 + 4, together * 9 + 6)) {
      return {upright: true, height: 340, characters: Math.floor(room / 7)};
    }
    const characters = Math.max(12, Math.floor(width * 0.055));
    const lines = Math.max(...data.labels.map((label) => wrap(label, characters).length));
    const row = Math.max(together * 12 + 12, lines * 15 + 8, 30);
    return {upright: false, height: labels * row + 40, characters};
  },

  config(data, layout, theme) {
    const style = axisStyle(theme);
    const inks = data.colours.map((index) => colour(seriesColour(index)));
    const highs = data.series.flatMap((series) => series.published).map((range) => range?.[1] ?? data.baseline);
    const reached = data.series.flatMap((series) => series.reaches ?? []).map((range) => range?.[1] ?? data.baseline);
    const reach = [...highs, ...reached, ...data.levels.map((level) => level.value)];
    const labelAxis = {
      ...style, stacked: data.stacked, grid: {...style.grid, display: false},
      ticks: {...style.ticks, color: theme.ink, autoSkip: false, maxRotation: 0},
    };
    const valueAxis = {
      ...style, stacked: data.stacked, beginAtZero: false, suggestedMin: data.baseline,
      suggestedMax: Math.max(data.baseline, ...reach),
      grid: {...style.grid, drawBorder: false, tickLength: 0,
             color: ({tick}) => (tick.value === data.baseline ? theme.quiet : theme.rule)},
    };
    const options = commonOptions(theme);
    options.indexAxis = layout.upright ? 'x' : 'y';
    options.layout = {padding: {top: layout.upright ? 18 : 0, right: layout.upright ? 0 : 34}};
    options.scales = layout.upright ? {x: labelAxis, y: valueAxis} : {x: valueAxis, y: labelAxis};
    options.interaction = {mode: 'index', axis: options.indexAxis, intersect: false};
    options.plugins.tooltip.callbacks = {
      title: ([item]) => data.labels[item.dataIndex],
      label: (item) => bars.tooltip(data, item),
    };
    const datasets = data.series.map((series, i) => ({
      label: series.name, data: series.values, published: series.published, reaches: series.reaches,
      base: data.stacked ? undefined : data.baseline,
      backgroundColor: data.series.length === 1 ? inks : inks[i], pointStyle: 'rect',
      minBarLength: data.stacked ? 0 : 2, maxBarThickness: data.stacked || data.series.length === 1 ? 52 : 40,
      categoryPercentage: 0.82, barPercentage: data.stacked || data.series.length === 1 ? 0.8 : 0.94,
    }));
    const labels = data.labels.map((label) => wrap(label, layout.characters));
    return {type: 'bar', data: {labels, datasets}, options, plugins: [barMarks(data, theme)]};
  },

  tooltip(data, {datasetIndex, dataIndex}) {
    const series = data.series[datasetIndex];
    const value = series.values[dataIndex];
    if (value === null) return null;
    const write = (number) => number.toFixed(data.decimals);
    const published = series.published[dataIndex];
    const range = series.reaches?.[dataIndex];
    return ` ${series.name}: ${write(value)}${range ? ` (90 %: ${rangeText(range, write)})` : ''}${published ? ` (published ${rangeText(published, write)})` : ''}`;
  },

  numbers(data) {
    const columns = [{heading: ''}];
    const rows = data.labels.map((label) => [label]);
    for (const series of data.series) {
      columns.push({heading: series.name, numeric: true, decimals: data.decimals});
      series.values.forEach((value, i) => rows[i].push(value));
      if (series.reaches) {
        columns.push({heading: `${series.name}, 90 %`, numeric: true});
        series.reaches.forEach((range, i) => {
          rows[i].push(range && rangeText(range, (number) => number.toFixed(data.decimals)));
        });
      }
      if (!series.published.some((range) => range)) continue;
      columns.push({heading: `${series.name}, published`, numeric: true});
      series.published.forEach((range, i) => {
        rows[i].push(range && rangeText(range, (number) => number.toFixed(data.decimals)));
      });
    }
    return {columns, rows};
  },
};
