'use strict';

// What ran when: a row for each stream, a bar for each operation, in the colour of what does it. A reader looks closer
// by buttons, or by drawing a frame around a stretch of time.

const timelineNames = {wide: 640, width: 170, characters: 24};

const cut = (text, characters) => (text.length <= characters ? text : text.slice(0, characters - 1) + '\u2026');

const lastEnd = (data) => Math.max(1e-6, ...data.rows.flatMap((row) => row.bars.map((bar) => bar[1])));

// Long runs are told in milliseconds.
function timelineUnit(data) {
  return lastEnd(data) >= 20000 ? {name: 'ms', micros: 1000} : {name: 'us', micros: 1};
}

// Names of operations on bars that have the room, edges between bars that touch, and, where there is no room beside the
// rows, their names above them.
function timelineMarks(data, layout, theme) {
  return {
    id: 'timelineMarks',
    afterDatasetsDraw(chart) {
      const {ctx, chartArea, scales} = chart;
      ctx.font = `12px ${Chart.defaults.font.family}`;
      ctx.textBaseline = 'middle';
      ctx.textAlign = 'left';
      clipped(chart, () => chart.data.datasets.forEach((dataset, d) => {
        if (!chart.isDatasetVisible(d)) return;
        chart.getDatasetMeta(d).data.forEach((bar, i) => {
          const left = Math.max(Math.min(bar.base, bar.x), chartArea.left);
          const right = Math.min(Math.max(bar.base, bar.x), chartArea.right);
          if (right - left < 5) return;
          ctx.fillStyle = theme.paper;
          ctx.fillRect(left, bar.y - bar.height / 2, 1, bar.height);
          const fits = Math.floor((right - left - 8) / 6.5);
          if (fits >= 3 && bar.height >= 13) ctx.fillText(cut(dataset.data[i].label, fits), left + 5, bar.y);
        });
      }));
      if (layout.wide) return;
      ctx.fillStyle = theme.ink;
      data.rows.forEach((row, i) => {
        const text = cut(row.name, Math.floor(chartArea.width / 6.5));
        ctx.fillText(text, chartArea.left, scales.y.getPixelForValue(i) - layout.row / 2 + 7);
      });
    },
  };
}

const timeline = {
  measure: (data) => `time [${timelineUnit(data).name}]`,

  legend: (data) => data.series.map((name, i) => (
    {name, dataset: i, swatch: () => swatch('', seriesColour(data.colours[i]))})),

  layout(data, width) {
    const wide = width >= timelineNames.wide;
    const row = data.rows.length > 24 ? (wide ? 20 : 36) : (wide ? 32 : 42);
    return {wide, row, height: data.rows.length * row + 44};
  },

  config(data, layout, theme) {
    const style = axisStyle(theme);
    const unit = timelineUnit(data);
    const [low, high] = data.view ?? [0, lastEnd(data)];
    const options = commonOptions(theme);
    options.indexAxis = 'y';
    options.scales = {
      x: {...style, type: 'linear', min: low, max: high,
          ticks: {...style.ticks, maxRotation: 0, callback: (value) => readable(value / unit.micros)}},
      y: {...style, type: 'category', labels: data.rows.map((_, i) => String(i)), offset: true,
          grid: {...style.grid, drawTicks: false, drawOnChartArea: false},
          ticks: {...style.ticks, display: layout.wide, color: theme.ink, autoSkip: false,
                  callback: (value) => cut(data.rows[value].name, timelineNames.characters)},
          afterFit: (scale) => { if (layout.wide) scale.width = timelineNames.width; }},
    };
    options.interaction = {mode: 'nearest', intersect: true};
    options.plugins.tooltip.callbacks = {
      title: ([item]) => item?.raw.label,
      label: ({raw}) => timeline.tooltip(data, raw),
      footer: ([item]) => (item ? `stream ${data.rows[Number(item.raw.y)].name}` : ''),
    };
    const datasets = data.series.map((name, series) => ({
      label: name, backgroundColor: colour(seriesColour(data.colours[series])), pointStyle: 'rect', grouped: false,
      minBarLength: 1, barThickness: layout.wide ? layout.row - 8 : layout.row - 26,
      data: data.rows.flatMap((row, i) => row.bars.filter((bar) => bar[2] === series).map(
        ([start, end, , label, detail]) => ({x: [start, end], y: String(i), label, detail}))),
    }));
    return {type: 'bar', data: {datasets}, options, plugins: [timelineMarks(data, layout, theme)]};
  },

  tooltip(data, {x: [start, end], detail}) {
    const {name, micros} = timelineUnit(data);
    const write = (time) => (time / micros).toFixed(2);
    return [...(detail ? wrap(detail, 60).map((line) => ` ${line}`) : []),
            ` ${write(start)} to ${write(end)} ${name}: ${write(end - start)} ${name}`];
  },

  // Shows a stretch of time, within the run and not shorter than what can be told apart.
  show(figure, low, high) {
    const end = lastEnd(figure.data);
    const width = Math.min(end, Math.max(high - low, end * 1e-5));
    const from = Math.min(Math.max(low, 0), end - width);
    figure.data.view = width >= end ? undefined : [from, from + width];
    figure.draw();
  },

  controls(figure) {
    const view = () => figure.data.view ?? [0, lastEnd(figure.data)];
    const zoom = (factor) => {
      const [low, high] = view();
      const [middle, half] = [(low + high) / 2, (high - low) / 2 * factor];
      timeline.show(figure, middle - half, middle + half);
    };
    const move = (part) => {
      const [low, high] = view();
      timeline.show(figure, low + part * (high - low), high + part * (high - low));
    };
    const button = (text, label, onclick) => element('button', {type: 'button', ariaLabel: label, title: label, onclick}, text);
    timeline.followPointer(figure);
    return element('div', {className: 'tools'}, button('\u2212', 'Look at more time', () => zoom(2)),
                   button('+', 'Look closer', () => zoom(0.5)), button('\u2190', 'Earlier', () => move(-0.5)),
                   button('\u2192', 'Later', () => move(0.5)),
                   button('Whole run', 'Show the whole run', () => timeline.show(figure, 0, Infinity)));
  },

  followPointer(figure) {
    let from = null;
    const frame = element('div', {className: 'frame', hidden: true});
    figure.box.append(frame);
    const at = (event) => event.clientX - figure.canvas.getBoundingClientRect().left;
    figure.canvas.addEventListener('pointerdown', (event) => {
      if (event.pointerType === 'mouse' && event.button === 0) from = at(event);
    });
    figure.canvas.addEventListener('pointermove', (event) => {
      if (from === null) return;
      frame.hidden = Math.abs(at(event) - from) < 5;
      frame.style.left = `${Math.min(from, at(event))}px`;
      frame.style.width = `${Math.abs(at(event) - from)}px`;
    });
    addEventListener('pointerup', (event) => {
      if (from === null) return;
      const ends = [from, at(event)].sort((a, b) => a - b).map((x) => figure.chart.scales.x.getValueForPixel(x));
      if (!frame.hidden) timeline.show(figure, ...ends);
      frame.hidden = true;
      from = null;
    });
  },

  numbers(data) {
    const {name, micros} = timelineUnit(data);
    const time = (heading) => ({heading, unit: name, numeric: true, decimals: 2});
    const columns = [{heading: 'stream'}, {heading: 'operation'}, {heading: 'by'}, {heading: 'work'}, time('from'),
                     time('to')];
    const rows = data.rows.flatMap((row) => row.bars.map(([start, end, series, label, detail]) => (
      [row.name, label, data.series[series], detail, start / micros, end / micros])));
    return {columns, rows};
  },
};
