'use strict';

// Points with error bars, and the lines that guide the eye.

// Draws within the axes only.
function clipped(chart, draw) {
  const {ctx, chartArea} = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

// Where a logarithmic axis has no place for a value, the end of the axis stands for it.
function place(scale, value) {
  const pixel = scale.getPixelForValue(value);
  return Number.isFinite(pixel) ? pixel : scale.getPixelForValue(scale.min);
}

// Of points with x_low, x_high, y_low, y_high, below the points themselves; `errorBars` of their dataset is the style.
const errorBars = {
  id: 'errorBars',
  beforeDatasetDraw(chart, {index, meta}) {
    const {data, errorBars: style} = chart.data.datasets[index];
    if (!style) return;
    const {x, y} = chart.scales;
    clipped(chart, (context) => data.forEach((point, i) => {
      const bar = (scale, value, low, high, across) => {
        if (low === undefined && high === undefined) return;
        const ends = [place(scale, low ?? value), place(scale, high ?? value)];
        whisker(context, scale === x, ends, across, style.cap, style.width, style.colour);
      };
      bar(x, point.x, point.x_low, point.x_high, meta.data[i].y);
      bar(y, point.y, point.y_low, point.y_high, meta.data[i].x);
    }));
  },
};

// Around points that are marked.
const rings = (theme) => ({
  id: 'rings',
  afterDatasetsDraw(chart) {
    const context = chart.ctx;
    chart.data.datasets.forEach(({data}, d) => {
      if (!chart.isDatasetVisible(d)) return;
      data.forEach((point, i) => {
        if (!point.marked) return;
        const {x, y} = chart.getDatasetMeta(d).data[i];
        context.beginPath();
        context.arc(x, y, 8, 0, 2 * Math.PI);
        context.lineWidth = 1.5;
        context.strokeStyle = theme.ink;
        context.stroke();
      });
    });
  },
});

const points = {
  measure: () => '',

  // All that is drawn along x or y, bars and guides included.
  reach(data, key) {
    const along = (point) => [point[key], point[`${key}_low`], point[`${key}_high`]];
    const values = [...data.series.flatMap((series) => series.points.flatMap(along)),
                    ...data.guides.flatMap((guide) => [guide.from[key], guide.to[key]])];
    const shown = values.filter((value) => Number.isFinite(value) && (!data[key].logarithmic || value > 0));
    return [Math.min(...shown), Math.max(...shown)];
  },

  // Of each point of each curve the earlier curve that lies there, no further off than a line is thick; -1 where there
  // is none.
  hosts(data) {
    const [low, high] = points.reach(data, 'y').map((end) => (data.y.logarithmic ? Math.log(end) : end));
    const height = (value) => ((data.y.logarithmic ? Math.log(value) : value) - low) / (high - low || 1);
    const at = data.series.map((series) => new Map(series.points.map((point) => [point.x, height(point.y)])));
    const lies = (point, other) => other.has(point.x) && Math.abs(height(point.y) - other.get(point.x)) < 0.004;
    return data.series.map((series, i) => series.points.map(
      (point) => (data.joined ? at.findIndex((other, o) => o < i && lies(point, other)) : -1)));
  },

  // Of each curve the earlier one that it shares most with: which, whether all of it, and at which points. A crossing is
  // no stretch that two curves share.
  bases(data) {
    return points.hosts(data).map((hosts) => {
      const stretches = hosts.filter((host, p) => host >= 0 && (hosts[p - 1] >= 0 || hosts[p + 1] >= 0));
      if (stretches.length === 0) return null;
      const often = (host) => stretches.filter((other) => other === host).length;
      const base = stretches.reduce((most, host) => (often(host) > often(most) ? host : most));
      return {base, whole: hosts.every((host) => host >= 0), shared: hosts.map((host) => host >= 0)};
    });
  },

  legend(data) {
    const bases = points.bases(data);
    const name = (entry, i) => (!bases[i] ? entry.name :
      `${entry.name} (${bases[i].whole ? '=' : 'in part ='} ${data.series[bases[i].base].name})`);
    const series = data.series.map((entry, i) => ({
      name: name(entry, i), dataset: data.toggles ? i : undefined,
      swatch: () => swatch(pointStyle(i), seriesColour(data.colours[i])),
    }));
    const guides = data.guides.map((guide) => ({name: guide.name, swatch: () => swatch('line', '--quiet')}));
    const marks = data.marks ? [{name: data.marks, swatch: () => swatch('ring')}] : [];
    return [...series, ...guides, ...marks];
  },

  layout: (data, width) => (
    {height: Math.round(Math.min(Math.max(width * 0.62, data.panel ? 240 : 300), 520) / 20) * 20}),

  text: (axis, value) => (
    axis.unit === 'B' ? sizeText(value) : `${readable(value)}${axis.unit ? ' ' + axis.unit : ''}`),

  axis(axis, [low, high], theme) {
    const style = axisStyle(theme);
    const sizes = axis.unit === 'B';
    const margin = sizes && axis.logarithmic ? 1.15 : undefined;  // no power of ten is near, which would end the axis
    const limits = {min: axis.low ?? (margin && low / margin), max: axis.high ?? (margin && high * margin),
                    suggestedMin: low, suggestedMax: high};
    const title = {...style.title, display: true,
                   text: axis.unit && !sizes ? `${axis.label} [${axis.unit}]` : axis.label};
    const ticks = {...style.ticks};
    if (sizes) {
      ticks.callback = (value) => sizeText(value);
      if (!axis.logarithmic) ticks.stepSize = 2 ** Math.max(Math.round(Math.log2((high - low) / 6)), 0);
    } else if (axis.logarithmic) {
      ticks.callback = function(value) {
        const digit = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
        const crowded = Math.log10(this.max / this.min) > 3;
        return digit === 1 || (!crowded && (digit === 2 || digit === 5)) ? tickText(value) : null;
      };
    } else {
      ticks.callback = (value) => tickText(value);
    }
    const scale = {...style, ...limits, title, ticks, type: axis.logarithmic ? 'logarithmic' : 'linear'};
    if (sizes && axis.logarithmic) scale.afterBuildTicks = points.powersOfTwo;
    return scale;
  },

  // At most nine of them; what is too short for one keeps its ticks.
  powersOfTwo(scale) {
    const [first, last] = [Math.ceil(Math.log2(scale.min) - 1e-9), Math.floor(Math.log2(scale.max) + 1e-9)];
    const step = [1, 2, 3, 5].find((each) => (last - first) / each <= 8) ?? 10;
    const ticks = [];
    for (let power = Math.ceil(first / step) * step; power <= last; power += step) ticks.push({value: 2 ** power});
    if (ticks.length > 0) scale.ticks = ticks;
  },

  config(data, layout, theme) {
    const options = commonOptions(theme);
    const axis = (key) => points.axis(data[key], points.reach(data, key), theme);
    options.scales = {x: axis('x'), y: axis('y')};
    const bases = points.bases(data);
    options.interaction = {mode: 'nearest', intersect: true};
    options.plugins.tooltip.filter = (item) => !item.dataset.guide;
    options.plugins.tooltip.callbacks = {
      title: ([item]) => item?.raw.label || item?.dataset.label,
      label: (item) => points.tooltip(data, item.raw),
      footer: ([item]) => (item?.raw.label ? `${data.legend ? data.legend + ': ' : ''}${item.dataset.label}` : ''),
    };
    const datasets = data.series.map((series, i) => {
      const ink = colour(seriesColour(data.colours[i]));
      return {label: series.name, data: series.points, errorBars: {cap: 3, width: 1, colour: ink}, backgroundColor: ink,
              borderColor: data.joined ? ink : theme.paper, borderWidth: data.joined ? 1.5 : 1,
              pointBorderColor: theme.paper, pointBorderWidth: 1, showLine: data.joined, pointStyle: pointStyle(i), hitRadius: 4,
              radius: pointStyle(i) === 'circle' ? 4.5 : 5.5, hoverRadius: 7, ...points.above(bases, i)};
    });
    const guides = data.guides.map((guide) => (
      {type: 'line', guide: true, label: guide.name, data: [guide.from, guide.to], borderColor: theme.quiet,
       borderWidth: 1.25, borderDash: [4, 4], pointRadius: 0, pointHoverRadius: 0, pointHitRadius: 0, order: 1}));
    return {type: 'scatter', data: {datasets: [...datasets, ...guides]}, options, plugins: [errorBars, rings(theme)]};
  },

  // Where a curve lies on another it is drawn above that, with gaps that show all that lie there.
  above(bases, index) {
    if (!bases[index]) return {};
    const {base, shared} = bases[index];
    const alike = (list) => list.filter((other) => other?.base === base).length;
    const [together, rank] = [alike(bases), alike(bases.slice(0, index))];
    const style = (value) => ({p0DataIndex, p1DataIndex}) => (
      shared[p0DataIndex] && shared[p1DataIndex] ? value : undefined);
    return {order: -1, radius: shared.map((lies) => (lies ? 3 : 5)),
            segment: {borderDash: style([7, 7 * together]), borderDashOffset: style(-7 * rank)}};
  },

  tooltip(data, point) {
    const lines = ['x', 'y'].map((key) => {
      const axis = data[key];
      const low = point[`${key}_low`];
      const high = point[`${key}_high`];
      const ends = [low ?? point[key], high ?? point[key]];
      const write = (value) => points.text(axis, value);
      const range = low === undefined && high === undefined ? '' : ` (${rangeText(ends, write)})`;
      return ` ${axis.label}: ${write(point[key])}${range}`;
    });
    return point.marked ? [...lines, ` ${data.marks}`] : lines;
  },

  numbers(data) {
    const written = (key) => ['', '_low', '_high'].map((end) => key + end);
    const given = [...written('x'), ...written('y')].filter(
      (key) => data.series.some((series) => series.points.some((point) => point[key] !== undefined)));
    const heading = (key) => data[key[0]].label + key.slice(1).replace('_', ', ');
    const columns = [{heading: 'series'}, {heading: ''},
                     ...given.map((key) => ({heading: heading(key), unit: data[key[0]].unit, numeric: true}))];
    const rows = data.series.flatMap((series) => series.points.map(
      (point) => [series.name, point.label, ...given.map((key) => point[key] ?? null)]));
    return {columns, rows};
  },
};
