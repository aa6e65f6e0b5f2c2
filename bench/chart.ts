import type { Measured } from './results.ts';

const WIDTH = 860;
const LABELS = 300;
const ROW = 34;
const TOP = 56;
const RIGHT = 130;

/** A picture of a scenario: a bar a series from its minimum to its p99, a stroke at its median. Series of one unit share a scale. */
export function chart({ title, series }: Measured): string {
  const height = TOP + series.length * ROW + 16;
  const units = new Map<string, number>();
  for (const { unit, p99 } of series) units.set(unit, Math.max(units.get(unit) ?? 0, p99));
  const rows = series.map(({ name, unit, min, p50, p99 }, at) => {
    const scale = (WIDTH - LABELS - RIGHT) / (units.get(unit) || 1);
    const y = TOP + at * ROW;
    const [from, mid, to] = [min, p50, p99].map((value) => LABELS + value * scale) as [
      number,
      number,
      number,
    ];
    return [
      `<text x="${LABELS - 10}" y="${y + 15}" text-anchor="end">${escaped(name)}</text>`,
      `<line x1="${LABELS}" x2="${WIDTH - RIGHT}" y1="${y + 10}" y2="${y + 10}" class="axis"/>`,
      `<rect x="${from.toFixed(1)}" y="${y}" width="${Math.max(1, to - from).toFixed(1)}" height="20" rx="3"/>`,
      `<line x1="${mid.toFixed(1)}" x2="${mid.toFixed(1)}" y1="${y - 3}" y2="${y + 23}" class="median"/>`,
      `<text x="${WIDTH - RIGHT + 10}" y="${y + 15}">${p50.toPrecision(3)} ${escaped(unit)}</text>`,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">
<style>text{font:13px sans-serif;fill:#223}.title{font-size:16px;font-weight:600}.note{font-size:11px;fill:#667}rect{fill:#7fb4c9}.axis{stroke:#dde}.median{stroke:#123f52;stroke-width:2}</style>
<rect width="100%" height="100%" style="fill:#fff"/>
<text x="16" y="24" class="title">${escaped(title)}</text>
<text x="16" y="42" class="note">bar: minimum to p99; stroke and figure: median</text>
${rows.join('\n')}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
