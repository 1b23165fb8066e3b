import { Button, Field } from '../../parts/parts.tsx';
import { hasExits, maxSteps, noExits, withSteps, type ExitFields, type StepFields } from './exits.ts';

/** What sells by itself after a buy. Closed and empty at first. */
export function ExitInputs(props: { readonly fields: ExitFields; readonly onChange: (fields: ExitFields) => void }) {
  const { fields, onChange } = props;
  const { steps } = fields;
  const setStep = (at: number, change: Partial<StepFields>): void =>
    onChange({ ...fields, steps: steps.map((step, index) => (index === at ? { ...step, ...change } : step)) });
  return (
    <details class="exits">
      <summary>Exits with the buy{hasExits(fields) && <b> are set</b>}</summary>
      <p class="hint">Sales that the server makes, armed together with the buy. Percentages count from what the position has cost.</p>
      {steps.map(({ part, profit }, at) => (
        <div class="pair" key={at}>
          <Field
            label={stepLabel('Take profit (%)', at, steps.length)}
            inputMode="decimal"
            maxLength={10}
            placeholder="none"
            value={profit}
            onInput={(event) => setStep(at, { profit: event.currentTarget.value })}
          />
          <Field
            label={stepLabel('Sells (%)', at, steps.length)}
            inputMode="decimal"
            maxLength={6}
            value={part}
            onInput={(event) => setStep(at, { part: event.currentTarget.value })}
          />
        </div>
      ))}
      <div class="row">
        <Button class="small" disabled={steps.length >= maxSteps} onClick={() => onChange(withSteps(fields, steps.length + 1))}>
          Add a step
        </Button>
        {steps.length > 1 && (
          <Button class="small" onClick={() => onChange(withSteps({ ...fields, steps: steps.slice(0, -1) }, steps.length - 1))}>
            Remove a step
          </Button>
        )}
        {hasExits(fields) && (
          <Button class="small" onClick={() => onChange(noExits)}>
            No exits
          </Button>
        )}
      </div>
      <div class="pair">
        {(['stopLoss', 'trailing'] as const).map((name) => (
          <Field
            key={name}
            label={name === 'stopLoss' ? 'Stop loss (%)' : 'Trailing stop (%)'}
            inputMode="decimal"
            maxLength={6}
            placeholder="none"
            value={fields[name]}
            onInput={(event) => onChange({ ...fields, [name]: event.currentTarget.value })}
          />
        ))}
      </div>
    </details>
  );
}

const stepLabel = (name: string, at: number, steps: number): string => (steps === 1 ? name : `${name}, step ${at + 1}`);
