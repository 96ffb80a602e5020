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

const points = {
  measure: () => '',

  legend(data) {
    const series = data.series.map((entry, i) => ({
      name: entry.name, dataset: data.toggles ? i : undefined,
      swatch: () => swatch(pointStyle(i), seriesColour(data.colours[i])),
    }));
    const guides = data.guides.map((guide) => ({name: guide.name, swatch: () => swatch('line', '--quiet')}));
    return [...series, ...guides];
  },

  layout: (data, width) => ({height: Math.round(Math.min(Math.max(width * 0.62, 300), 520) / 20) * 20}),

  axis(axis, theme) {
    const style = axisStyle(theme);
    const limits = {min: axis.low ?? undefined, max: axis.high ?? undefined};
    const title = {...style.title, display: true, text: axis.unit ? `${axis.label} [${axis.unit}]` : axis.label};
    const ticks = {...style.ticks};
    if (axis.logarithmic) {
      ticks.callback = function(value) {
        const digit = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
        const crowded = Math.log10(this.max / this.min) > 3;
        return digit === 1 || (!crowded && (digit === 2 || digit === 5)) ? readable(value) : null;
      };
    } else {
      ticks.callback = (value) => readable(value);
    }
    return {...style, ...limits, title, ticks, type: axis.logarithmic ? 'logarithmic' : 'linear'};
  },

  config(data, layout, theme) {
    const options = commonOptions(theme);
    options.scales = {x: points.axis(data.x, theme), y: points.axis(data.y, theme)};
    options.interaction = {mode: 'nearest', intersect: true};
    options.plugins.tooltip.filter = (item) => !item.dataset.guide;
    options.plugins.tooltip.callbacks = {
      title: ([item]) => item?.raw.label || item?.dataset.label,
      label: (item) => points.tooltip(data, item.raw),
      footer: ([item]) => (item?.raw.label ? item.dataset.label : ''),
    };
    const datasets = data.series.map((series, i) => {
      const ink = colour(seriesColour(data.colours[i]));
      return {label: series.name, data: series.points, errorBars: {cap: 3, width: 1, colour: ink}, backgroundColor: ink,
              borderColor: data.joined ? ink : theme.paper, borderWidth: data.joined ? 1.5 : 1,
              pointBorderColor: theme.paper, pointBorderWidth: 1, showLine: data.joined, pointStyle: pointStyle(i), hitRadius: 4,
              radius: pointStyle(i) === 'circle' ? 4.5 : 5.5, hoverRadius: 7};
    });
    const guides = data.guides.map((guide) => (
      {type: 'line', guide: true, label: guide.name, data: [guide.from, guide.to], borderColor: theme.quiet,
       borderWidth: 1.25, borderDash: [4, 4], pointRadius: 0, pointHoverRadius: 0, pointHitRadius: 0, order: 1}));
    return {type: 'scatter', data: {datasets: [...datasets, ...guides]}, options, plugins: [errorBars]};
  },

  tooltip(data, point) {
    return ['x', 'y'].map((key) => {
      const axis = data[key];
      const low = point[`${key}_low`];
      const high = point[`${key}_high`];
      const ends = [low ?? point[key], high ?? point[key]];
      const range = low === undefined && high === undefined ? '' : ` (${rangeText(ends)})`;
      return ` ${axis.label}: ${readable(point[key])} ${axis.unit}${range}`;
    });
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
