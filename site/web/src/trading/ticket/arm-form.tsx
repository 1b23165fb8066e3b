import { SluiceError } from '@sluice/client';
import { useRef, useState } from 'preact/hooks';
import { price, signed } from '../../format/price.ts';
import { shortAddress } from '../../format/text.ts';
import { Button, Dialog, Fact, Fault, Field, Select } from '../../parts/parts.tsx';
import { sluice, spendsRealCoins } from '../../state/server.ts';
import { newKey, undecided } from '../orders/attempts.ts';
import { orderFault } from '../orders/words.ts';
import { readTerms, type Side } from './amounts.ts';
import type { TicketValues } from './ticket-fields.tsx';
import type { TriggerBody } from '../triggers/trigger.ts';
import { conditionOf, nameOf, nowOf, waits, type Known, type WaitFields } from './wait.ts';
import { amountText, conditionText, metricText } from '../triggers/words.ts';

interface ArmFormProps {
  readonly mint: string;
  readonly symbol: string;
  readonly publicKey: string;
  readonly fields: TicketValues;
  /** The symbol of the coin that a buy spends. */
  readonly quote: string;
  readonly known: Known;
  readonly disabled: boolean;
}

/** Arms a trigger with the amount of the ticket. */
export function ArmForm(props: ArmFormProps) {
  const { mint, publicKey, fields, quote, known } = props;
  const [wish, setWish] = useState<WaitFields>({ wait: 'priceUsd', value: '' });
  const [asked, setAsked] = useState<TriggerBody | null>(null);
  const arming = useArming();
  const press = async (side: Side): Promise<void> => {
    const terms = readTerms(side, fields, quote);
    if (typeof terms === 'string') return arming.refuse(terms);
    const when = conditionOf(wish, known);
    if (typeof when === 'string') return arming.refuse(when);
    const body: TriggerBody = { publicKey, mint, side, ...terms, when };
    await arming.armOrAsk(body, () => setAsked(body));
  };
  const now = nowOf(wish.wait, known);
  return (
    <>
      <div class="pair">
        <Select
          label="Waits for"
          value={wish.wait}
          options={waits}
          onChange={(wait) => setWish({ ...wish, wait: wait as WaitFields['wait'] })}
        />
        {wish.wait !== 'migration' && (
          <Field
            label={nameOf(wish.wait)}
            inputMode="decimal"
            maxLength={24}
            value={wish.value}
            onInput={(event) => setWish({ ...wish, value: event.currentTarget.value })}
          />
        )}
      </div>
      <p class="hint">
        {now !== null && (
          <>Now {wish.wait === 'profit' ? signed(now) : wish.wait === 'curveProgress' ? `${price(now)} %` : nowText(wish.wait, now)}. </>
        )}
        The server places the order when the condition holds, at the price of that moment.
      </p>
      <div class="pair">
        {(['buy', 'sell'] as const).map((side) => (
          <Button key={side} class={side} disabled={props.disabled || arming.isBusy} onClick={() => void press(side)}>
            {side === 'buy' ? 'Arm buy' : 'Arm sell'}
          </Button>
        ))}
      </div>
      <Fault text={arming.fault} />
      <p role="status" class="faint">
        {arming.armed}
      </p>
      {asked !== null && (
        <ConfirmArm body={asked} symbol={props.symbol} quote={quote} onClose={() => setAsked(null)} onConfirm={() => arming.arm(asked)} />
      )}
    </>
  );
}

const nowText = (wait: WaitFields['wait'], now: number): string =>
  wait === 'profit' || wait === 'trailing' || wait === 'migration' ? '' : metricText(wait, now);

/** Arms one trigger at a time. */
function useArming() {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly fault: string | null; readonly armed: string }>(idle);
  /** Two clicks can arrive before the buttons are disabled. */
  const underWay = useRef(false);
  /** The trigger of which no answer says whether the server has it. Asked for again, it is still armed once. */
  const unknown = useRef<{ readonly body: string; readonly key: string } | null>(null);
  const run = async (work: () => Promise<string>): Promise<void> => {
    if (underWay.current) return;
    underWay.current = true;
    setState({ ...idle, isBusy: true });
    try {
      setState({ ...idle, armed: await work() });
    } catch (error) {
      setState({ ...idle, fault: orderFault(error) });
    } finally {
      underWay.current = false;
    }
  };
  const send = async (body: TriggerBody): Promise<string> => {
    const text = JSON.stringify(body);
    const key = unknown.current?.body === text ? unknown.current.key : newKey();
    // The name of the group is made of the key, so that the body of a repetition is the same.
    const grouped = { ...body, ocoGroup: key };
    try {
      const trigger = await sluice.triggers.arm(grouped, { idempotencyKey: key });
      unknown.current = null;
      return `Armed. ${conditionText(trigger)}.`;
    } catch (error) {
      unknown.current = error instanceof SluiceError && undecided.has(error.code) ? { body: text, key } : null;
      throw error;
    }
  };
  return {
    ...state,
    refuse: (fault: string) => setState({ ...idle, fault }),
    arm: (body: TriggerBody) => void run(() => send(body)),
    /** Arms the trigger if it spends no real coins; otherwise calls `ask`. */
    armOrAsk: (body: TriggerBody, ask: () => void) =>
      run(async () => {
        if (!(await spendsRealCoins())) return send(body);
        ask();
        return '';
      }),
  };
}

const idle = { isBusy: false, fault: null, armed: '' };

/** The confirmation of a trigger that can spend real coins. */
function ConfirmArm(props: {
  readonly body: TriggerBody;
  readonly symbol: string;
  readonly quote: string;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}) {
  const { body, symbol, quote, onClose, onConfirm } = props;
  const verb = body.side === 'buy' ? 'Buy' : 'Sell';
  return (
    <Dialog title={`${verb} later with real coins`} onClose={onClose}>
      <p class="warn">The server places this order by itself when the condition holds, also while this page is closed.</p>
      <dl class="facts list">
        <Fact name={body.side === 'buy' ? 'Spend' : 'Sell'}>
          {amountText(body, null, quote)} {body.side === 'sell' && <bdi>{symbol}</bdi>}
        </Fact>
        <Fact name="When">{conditionText(body)}</Fact>
        <Fact name="Slippage at most" title="From the quote at that moment">{`${body.slippage} %`}</Fact>
        <Fact name="Wallet" title={body.publicKey}>
          {shortAddress(body.publicKey)}
        </Fact>
      </dl>
      <form method="dialog" class="row">
        <button type="submit" autoFocus>
          Cancel
        </button>
        <button type="submit" class={body.side} onClick={onConfirm}>
          Arm for real
        </button>
      </form>
    </Dialog>
  );
}
