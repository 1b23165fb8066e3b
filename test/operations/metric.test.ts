import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { metricsOf, metricsText } from '@sluice/shared/operations/metric.ts';
import { ProcessMeter } from '@sluice/shared/operations/process-meter.ts';
import { until } from '../support/gateway.ts';

it('each name is written once, before all its samples, with escaped labels', () => {
  const text = metricsText([
    ...metricsOf('own', [['calls_total', 'Calls.', 3]], { lane: 'rpc 1' }),
    ...metricsOf('own', [
      ['open', 'Open.', true],
      ['age_seconds', 'Age.', null],
      ['calls_total', 'Calls.', { lane: { 'a "b" \\ c\nd': 4 } }],
    ]),
  ]);
  expect(text).toBe(
    [
      '# HELP own_calls_total Calls.',
      '# TYPE own_calls_total counter',
      'own_calls_total{lane="rpc 1"} 3',
      'own_calls_total{lane="a \\"b\\" \\\\ c\\nd"} 4',
      '# HELP own_open Open.',
      '# TYPE own_open gauge',
      'own_open 1',
      '# HELP own_age_seconds Age.',
      '# TYPE own_age_seconds gauge',
      'own_age_seconds -1',
      '',
    ].join('\n'),
  );
});

it("a histogram's buckets contain what was recorded", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20_000_000 }), { maxLength: 200 }), (all) => {
      const latencies = new LatencyHistogram();
      for (const us of all) latencies.record(us);
      const { buckets, sum, count } = latencies.distribution();
      expect(count).toBe(all.length);
      expect(sum).toBeCloseTo(all.reduce((a, b) => a + b, 0) / 1e6, 6);
      for (const { le, count: below } of buckets) {
        // A value within the width of a bucket below the bound may count above it.
        expect(below).toBeLessThanOrEqual(all.filter((us) => us <= le * 1e6).length);
        expect(below).toBeGreaterThanOrEqual(all.filter((us) => us < le * 1e6 * (1 - 1 / 16)).length);
      }
    }),
  );
  const one = new LatencyHistogram();
  one.record(3_000);
  const text = metricsText(metricsOf('own', [['time_seconds', 'Time.', { step: { sign: one.distribution() } }]]));
  expect(text).toContain('own_time_seconds_bucket{step="sign",le="0.0025"} 0\nown_time_seconds_bucket{step="sign",le="0.005"} 1\n');
  expect(text).toContain(
    'own_time_seconds_bucket{step="sign",le="+Inf"} 1\nown_time_seconds_sum{step="sign"} 0.003\nown_time_seconds_count{step="sign"} 1\n',
  );
});

it('a blocked event loop counts for everything that was due meanwhile', async () => {
  const meter = new ProcessMeter();
  try {
    await until('the first turn', () => meter.loopDelayUs.count > 0);
    const before = meter.loopDelayUs.count;
    const end = performance.now() + 400;
    while (performance.now() < end);
    await until('it to be recorded', () => meter.loopDelayUs.count >= before + 10);
    expect(meter.loopDelayUs.summary().max).toBeGreaterThan(350_000);
    // One of twenty turns waited the whole time, half of them half of it.
    const { buckets, count } = meter.loopDelayUs.distribution();
    expect(count - buckets.find(({ le }) => le === 0.1)!.count).toBeGreaterThanOrEqual(10);
    const metrics = await meter.metrics();
    expect(metrics.find(({ name }) => name === 'process_resident_memory_bytes')!.value).toBeGreaterThan(1e7);
  } finally {
    meter.close();
  }
});
