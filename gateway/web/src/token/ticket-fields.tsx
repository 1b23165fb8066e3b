const presets: readonly (readonly [string, string])[] = [
  ['0.1', '0.1 SOL'],
  ['0.5', '0.5 SOL'],
  ['1', '1 SOL'],
  ['25%', '25 %'],
  ['50%', '50 %'],
  ['100%', '100 %'],
];

export interface TicketValues {
  readonly amount: string;
  readonly slippage: string;
  readonly priorityFee: string;
  readonly dryRun: boolean;
}

/** What the visitor sets before placing an order. */
export function TicketFields(props: { symbol: string; fields: TicketValues; onChange: (fields: TicketValues) => void }) {
  const { symbol, fields, onChange } = props;
  const set = (change: Partial<TicketValues>): void => onChange({ ...fields, ...change });
  return (
    <>
      <label>
        <span>Amount</span>
        <input
          inputMode="decimal"
          autoComplete="off"
          maxLength={24}
          value={fields.amount}
          aria-describedby="amount-help"
          onInput={(event) => set({ amount: event.currentTarget.value })}
        />
      </label>
      <p id="amount-help" class="hint">
        Buy: SOL to spend. Sell: {symbol}, or a part such as 50%.
      </p>
      <div class="presets">
        {presets.map(([value, text]) => (
          <button key={value} type="button" class="small" onClick={() => set({ amount: value })}>
            {text}
          </button>
        ))}
      </div>
      <div class="pair">
        <label>
          <span>Slippage (%)</span>
          <input
            inputMode="decimal"
            maxLength={6}
            value={fields.slippage}
            onInput={(event) => set({ slippage: event.currentTarget.value })}
          />
        </label>
        <label>
          <span>Priority fee (SOL)</span>
          <input
            inputMode="decimal"
            maxLength={12}
            placeholder="automatic"
            value={fields.priorityFee}
            onInput={(event) => set({ priorityFee: event.currentTarget.value })}
          />
        </label>
      </div>
      <label class="check">
        <input type="checkbox" checked={fields.dryRun} onChange={(event) => set({ dryRun: event.currentTarget.checked })} />
        Simulate only: build and simulate the transaction, send nothing
      </label>
    </>
  );
}
