'use strict';

// One row per claim, each on a scale of its own that has the band from 0 to 1.

const bands = {
  lowest: -0.5,  // ends of the common scale: what lies beyond is drawn there, as an arrow
  highest: 1.5,

  measure: () => 'each row on its own scale: the grey band is what the claim allows',

  legend: () => [
    {name: 'predicted, inside', swatch: () => swatch('circle', '--inside')},
    {name: 'predicted, outside', swatch: () => swatch('rectRot', '--outside')},
    {name: 'far outside', swatch: () => swatch('arrow', '--outside')},
    {name: 'published', swatch: () => swatch('beam')},
  ],

  // Rows are as high as their names are long: `at` has the middle of each, in pixels from the top.
  layout(data, width) {
    const characters = Math.floor(width * (width < 600 ? 0.42 : 0.36) / 6.2);
    const names = data.rows.map((row) => wrap(row.name, characters));
    const at = [];
    let height = 0;
    for (const lines of names) {
      const row = lines.length * 15 + 11;
      at.push(height + row / 2);
      height += row;
    }
    return {names, at, rows: height, height: height + 40, wide: width >= 600};
  },

  // A band without width is as wide as the last digit that one would read.
  position({low, high}, value) {
    const width = high - low || Math.max(Math.abs(low) * 1e-3, 1e-9);
    const place = high > low ? (value - low) / width : 0.5 + (value - low) / width;
    return Math.min(Math.max(place, bands.lowest), bands.highest);
  },

  config(data, layout, theme) {
    const options = commonOptions(theme);
    const rowAxis = (labels, position, ink, characters) => ({
      ...axisStyle(theme), type: 'linear', reverse: true, min: 0, max: layout.rows, position,
      grid: {display: false, drawBorder: false}, afterFit: (axis) => { axis.width = characters * 6.2 + 16; },
      afterBuildTicks: (axis) => { axis.ticks = layout.at.map((value) => ({value})); },
      ticks: {autoSkip: false, color: ink, callback: (_, index) => labels[index]},
    });
    const inks = data.rows.map((row) => (row.holds ? theme.quiet : colour('--outside')));
    options.scales = {
      x: {...axisStyle(theme), min: bands.lowest - 0.1, max: bands.highest + 0.1,
          grid: {color: theme.rule, drawBorder: false, tickLength: 0},
          afterBuildTicks: (axis) => { axis.ticks = [{value: 0}, {value: 1}]; },
          ticks: {color: theme.quiet, callback: (value) => (value === 0 ? 'lowest' : 'highest')}},
      y: rowAxis(layout.names, 'left', theme.ink, longest(layout.names.flat())),
    };
    if (layout.wide) {
      const summaries = data.rows.map(bands.summary);
      options.scales.values = rowAxis(summaries, 'right', ({index}) => inks[index], longest(summaries));
    }
    options.interaction = {mode: 'nearest', axis: 'y', intersect: false};
    options.plugins.tooltip.filter = (item) => item.dataset.label === 'predicted';
    options.plugins.tooltip.callbacks = {
      title: ([item]) => item && data.rows[item.dataIndex].name,
      label: (item) => bands.tooltip(data.rows[item.dataIndex]),
    };
    return {type: 'scatter', data: {datasets: bands.datasets(data, layout, theme)}, options, plugins: [errorBars]};
  },

  datasets(data, layout, theme) {
    const ink = (row) => colour(row.holds ? '--inside' : '--outside');
    const beyond = (x) => x === bands.lowest || x === bands.highest;
    const predicted = data.rows.map((row, i) => ({x: bands.position(row, row.predicted), y: layout.at[i]}));
    const published = data.rows.flatMap((row, i) => {
      if (!row.published) return [];
      const [low, high] = row.published.map((value) => bands.position(row, value));
      return [{x: (low + high) / 2, x_low: low, x_high: high, y: layout.at[i]}];
    });
    const band = layout.at.flatMap((y) => [{x: 0, y}, {x: 1, y}, {x: NaN, y: NaN}]);
    return [
      {label: 'predicted', data: predicted, backgroundColor: data.rows.map(ink), borderColor: theme.paper,
       borderWidth: 1,
       pointStyle: data.rows.map((row, i) => (row.holds ? 'circle' : beyond(predicted[i].x) ? 'triangle' : 'rectRot')),
       rotation: predicted.map(({x}) => (x === bands.lowest ? -90 : x === bands.highest ? 90 : 0)),
       radius: 6, hoverRadius: 8},
      {label: 'published', data: published, errorBars: {cap: 7, width: 2, colour: theme.ink}, radius: 0, hoverRadius: 0,
       hitRadius: 0},
      {type: 'line', label: 'band', data: band, borderColor: theme.rule, borderWidth: 14, borderCapStyle: 'butt',
       pointRadius: 0, pointHoverRadius: 0, pointHitRadius: 0, spanGaps: false},
    ];
  },

  summary: (row) => `${readable(row.predicted)}${row.unit ? ' ' + row.unit : ''}  (${rangeText([row.low, row.high])})`,

  tooltip(row) {
    const lines = [` predicted: ${readable(row.predicted)} ${row.unit}`,
                   ` allowed: ${rangeText([row.low, row.high])} ${row.unit}`];
    if (row.published) lines.push(` published: ${rangeText(row.published)} ${row.unit}`);
    return lines;
  },

  numbers(data) {
    const number = (heading) => ({heading, numeric: true});
    return {
      columns: [{heading: 'claim'}, number('lowest'), number('highest'), number('published'), number('predicted'),
                {heading: 'unit'}, {heading: 'inside'}],
      rows: data.rows.map((row) => [row.name, row.low, row.high, row.published && rangeText(row.published),
                                    row.predicted, row.unit, row.holds ? 'yes' : 'no']),
    };
  },
};
