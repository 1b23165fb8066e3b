import type { TokenInfo } from '@sluice/client';
import { useEffect, useMemo } from 'preact/hooks';
import { Card } from '../parts/parts.tsx';
import { usePositions } from '../parts/positions.ts';
import { cancelTriggers, moveTriggers, offerUnfinished, say } from '../trading/triggers/actions.ts';
import { TriggerTable } from '../trading/triggers/trigger-list.tsx';
import type { Trigger } from '../trading/triggers/trigger.ts';
import { useTriggers } from '../trading/triggers/use-triggers.ts';
import { ChartLines, type PriceScale } from './chart-lines.tsx';
import { priceText, type Unit } from './chart-units.ts';
import { conditionAt, firesAtOnce, linesOf, lineText, unitNow, type AverageCosts, type Line } from './lines.ts';

/** More lines, and more wallets whose cost is read, than a chart can show. */
const maxLines = 40;
const maxWallets = 5;

/** The open triggers of a token, and the positions on which they and the ticket depend. `publicKey`: the wallet of the ticket. */
export function useTokenTriggers(mint: string, publicKey: string) {
  const list = useTriggers({ mint, isOpen: true });
  const { triggers } = list;
  const wallets = useMemo(() => {
    const others = (triggers ?? []).filter(({ when }) => 'position' in when).map((trigger) => trigger.publicKey);
    return [...new Set([publicKey, ...others])].filter((one) => one !== '').slice(0, maxWallets);
  }, [triggers, publicKey]);
  const { positions, fault: positionsFault } = usePositions(wallets);
  const costs: AverageCosts = useMemo(() => {
    const known = [...(positions ?? [])].map(([wallet, byMint]) => [wallet, byMint.get(mint)?.averageCostSol ?? null] as const);
    return new Map(known.filter((one): one is readonly [string, number] => one[1] !== null));
  }, [positions, mint]);
  useEffect(() => offerUnfinished(), []);
  return { ...list, costs, positionsFault, position: positions?.get(publicKey)?.get(mint) ?? null };
}

interface TriggerLinesProps {
  readonly triggers: readonly Trigger[];
  readonly costs: AverageCosts;
  readonly info: TokenInfo;
  readonly scale: PriceScale;
  readonly unit: Unit;
}

/** The open triggers on the chart. */
export function TriggerLines({ triggers, costs, info, scale, unit }: TriggerLinesProps) {
  const lines = useMemo(() => linesOf(triggers, unit, info, costs).slice(0, maxLines), [triggers, unit, info, costs]);
  const nowPrice = unitNow(unit, info);
  if (lines.length === 0) return null;
  const move = async (line: Line, price: number): Promise<string | null> => {
    const when = conditionAt(line.triggers[0]!, price, unit, info, costs);
    const fault =
      when === null
        ? 'its price is not known now.'
        : firesAtOnce(line.op, price, nowPrice)
          ? `at ${priceText(unit, price)} it would fire at once. The price is ${priceText(unit, nowPrice!)}.`
          : null;
    if (when === null || fault !== null) {
      say({ text: `Not moved. ${lineText(line, info.decimals)}: ${fault}`, kind: 'fault' });
      return null;
    }
    const moved = await moveTriggers(line.triggers, when);
    return moved[0]?.triggerId ?? null;
  };
  return (
    <ChartLines
      {...{ lines, scale, unit, nowPrice }}
      decimals={info.decimals}
      onMove={move}
      onCancel={(line) => void cancelTriggers(line.triggers)}
    />
  );
}

/** Nothing without open triggers. */
export function TokenTriggers(props: {
  readonly triggers: readonly Trigger[] | null;
  readonly fault: string | null;
  readonly decimals: number;
}) {
  const { triggers, fault, decimals } = props;
  if ((triggers === null || triggers.length === 0) && fault === null) return null;
  return (
    <Card id="token-triggers" title="Triggers" aside={<a href="#/orders">All</a>}>
      <TriggerTable triggers={triggers} fault={fault} tokenDecimals={decimals} empty="" />
    </Card>
  );
}
