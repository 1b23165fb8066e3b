import { priceText, volumeText, type Drawn, type Unit } from './chart-units.ts';

/** The numbers of one candle: of the one under the pointer, otherwise of the last. */
export function Legend({ of, unit, quote }: { readonly of: Drawn | null; readonly unit: Unit; readonly quote: string }) {
  const change = of === null || of.open === 0 ? null : (of.close / of.open - 1) * 100;
  const parts: readonly (readonly [short: string, name: string, text: string, tone?: string])[] =
    of === null
      ? []
      : [
          ['O', 'Open', priceText(unit, of.open)],
          ['H', 'High', priceText(unit, of.high)],
          ['L', 'Low', priceText(unit, of.low)],
          ['C', 'Close', priceText(unit, of.close)],
          [
            '',
            'Change',
            change === null ? '–' : `${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(2)} %`,
            of.close < of.open ? 'sell' : 'buy',
          ],
          ['Vol', 'Volume', volumeText(unit, of.volume, quote)],
        ];
  return (
    <dl class="legend" aria-label="Candle">
      {parts.map(([short, name, text, tone = '']) => (
        <div key={name} title={name}>
          <dt class={short === '' ? 'hidden' : ''}>{short === '' ? name : short}</dt>
          <dd class={tone}>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
