import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { priceText, type Unit } from './chart-units.ts';
import { Button } from '../parts/parts.tsx';
import { signed } from '../format/price.ts';
import { isMovable, lineText, type Line } from './lines.ts';

/** Where the prices of a chart are. Pixels from its top. */
export interface PriceScale {
  /** Null while nothing is drawn. */
  readonly toY: (price: number) => number | null;
  readonly toPrice: (y: number) => number | null;
  /** Of the part in which prices are drawn. */
  readonly size: () => { readonly width: number; readonly height: number };
  /** Calls back whenever the chart was drawn; returns what ends it. */
  readonly follow: (drawn: () => void) => () => void;
}

/** A pointer that moves less has not dragged. */
const leastDragPixels = 4;
const labelPixels = 24;
const labelGap = 6;
/** Part of the price by which a key moves a line. */
const keySteps: Readonly<Record<string, number>> = {
  ArrowUp: 0.005,
  ArrowRight: 0.005,
  ArrowDown: -0.005,
  ArrowLeft: -0.005,
  PageUp: 0.05,
  PageDown: -0.05,
};
/** The list of triggers follows a change sooner. */
const listedWithinMs = 2_000;
const percentsShown = 1_000;

/** A line on its way to a new price. */
interface Moving {
  readonly key: string;
  readonly price: number;
  /** It was dropped, and the server is asked. */
  readonly isApplied: boolean;
}

interface ChartLinesProps {
  readonly lines: readonly Line[];
  readonly scale: PriceScale;
  readonly unit: Unit;
  /** Of the token. */
  readonly decimals: number;
  /** The newest price in the unit. */
  readonly nowPrice: number | null;
  /** Arms the triggers of the line at another price. Returns one of the new triggers, null if they stay as they were. */
  readonly onMove: (line: Line, price: number) => Promise<string | null>;
  readonly onCancel: (line: Line) => void;
}

/** The lines of triggers over the chart. Each can be dragged by its label, or moved with the keyboard. */
export function ChartLines({ lines, scale, unit, decimals, nowPrice, onMove, onCancel }: ChartLinesProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [moving, setMoving] = useState<Moving | null>(null);
  /** The trigger whose line gets the focus once it is drawn. */
  const focusOn = useRef<string | null>(null);
  const priceOf = (line: Line): number => (moving?.key === line.key ? moving.price : line.price);
  const prices = lines.map(priceOf);
  useLayoutEffect(() => {
    const place = (): void => placeLines(frame.current!, scale, prices);
    place();
    return scale.follow(place);
  }, [scale, prices.join()]);
  useEffect(() => {
    const line = lines.findIndex(({ triggers }) => triggers.some(({ triggerId }) => triggerId === focusOn.current));
    if (line === -1) return;
    frame.current!.querySelectorAll<HTMLElement>('[role=slider]')[line]!.focus();
    focusOn.current = null;
    setMoving(null);
  }, [lines]);
  const apply = async (line: Line, price: number): Promise<void> => {
    setMoving({ key: line.key, price, isApplied: true });
    focusOn.current = await onMove(line, price);
    // A line that moved stays where it was dropped until its new triggers are listed.
    const forget = (): void => {
      focusOn.current = null;
      setMoving((last) => (last?.isApplied === true ? null : last));
    };
    setTimeout(forget, focusOn.current === null ? 0 : listedWithinMs);
  };
  return (
    <div class="chart-lines" role="group" aria-label="Triggers on the chart" ref={frame}>
      <p id="line-help" class="hidden">
        Arrow keys and Page Up and Down move it, Enter applies, Escape resets, Delete cancels the trigger.
      </p>
      {lines.map((line) => (
        <LineHandle
          key={line.key}
          line={line}
          text={lineText(line, decimals)}
          price={priceOf(line)}
          unit={unit}
          nowPrice={nowPrice}
          toPrice={(clientY) => scale.toPrice(clientY - frame.current!.getBoundingClientRect().top)}
          toClientY={(price) => (scale.toY(price) ?? 0) + frame.current!.getBoundingClientRect().top}
          isMoving={moving?.key === line.key}
          isLocked={moving?.isApplied === true}
          onMoving={(price) => setMoving(price === null ? null : { key: line.key, price, isApplied: false })}
          onApply={(price) => void apply(line, price)}
          onCancel={() => onCancel(line)}
        />
      ))}
    </div>
  );
}

/** Puts each line at its price. Those outside of the chart are at its edge. */
function placeLines(frame: HTMLElement, scale: PriceScale, prices: readonly number[]): void {
  const { width, height } = scale.size();
  frame.style.width = `${width}px`;
  frame.style.height = `${height}px`;
  const labels: { readonly label: HTMLElement; readonly top: number }[] = [];
  for (const [at, element] of [...frame.querySelectorAll<HTMLElement>('.chart-line')].entries()) {
    const y = scale.toY(prices[at]!);
    element.hidden = y === null;
    if (y === null) continue;
    const top = Math.min(Math.max(y, 0), height);
    element.dataset['edge'] = y < 0 ? 'above' : y > height ? 'below' : '';
    element.style.top = `${top}px`;
    labels.push({ label: element.querySelector<HTMLElement>('.chart-label')!, top });
  }
  const ordered = labels.toSorted((one, other) => one.top - other.top);
  const taken: Place[] = [];
  // From the edges to the middle, so that labels without room have the order of their prices, and stay in the chart.
  for (const { label, top } of ordered.filter((each) => each.top < height / 2)) placeLabel(label, top, width, 1, taken);
  for (const { label, top } of ordered.filter((each) => each.top >= height / 2).toReversed()) placeLabel(label, top, width, -1, taken);
}

interface Place {
  readonly top: number;
  readonly right: number;
}

/** A label that would cover others is on their right, or below or above them if there is no room. */
function placeLabel(label: HTMLElement, lineTop: number, width: number, direction: 1 | -1, taken: Place[]): void {
  const [own, height] = [label.offsetWidth, label.offsetHeight];
  const covered = (top: number) => taken.filter((other) => Math.abs(other.top - top) < height);
  let top = lineTop;
  let left = Math.max(labelGap, ...covered(top).map(({ right }) => right + labelGap));
  if (left + own > width) {
    left = labelGap;
    for (let others = covered(top); others.length > 0; others = covered(top)) {
      top = direction * Math.max(...others.map((other) => other.top * direction)) + direction * height;
    }
  }
  taken.push({ top, right: left + own });
  label.style.left = `${left}px`;
  label.style.translate = `0 ${top - lineTop}px`;
}

interface HandleProps {
  readonly line: Line;
  readonly text: string;
  readonly price: number;
  readonly unit: Unit;
  readonly nowPrice: number | null;
  /** Of the pointer and of prices, on the screen. */
  readonly toPrice: (clientY: number) => number | null;
  readonly toClientY: (price: number) => number;
  readonly isMoving: boolean;
  /** A change is being applied. */
  readonly isLocked: boolean;
  /** Null: back to its price. */
  readonly onMoving: (price: number | null) => void;
  readonly onApply: (price: number) => void;
  readonly onCancel: () => void;
}

function LineHandle(props: HandleProps) {
  const { line, text, price, unit, nowPrice, isMoving, isLocked, onMoving, onApply, onCancel } = props;
  const canMove = isMovable(line) && !isLocked;
  const { handlers, end } = useDrag(props, canMove);
  const percent = nowPrice === null ? null : (price / nowPrice - 1) * 100;
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = keySteps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || isLocked) return;
    if (event.key === 'Delete' || event.key === 'Backspace') onCancel();
    else if (step !== undefined && canMove) onMoving(price * (1 + step));
    else if (event.key === 'Enter' && isMoving) onApply(price);
    else if (event.key === 'Escape' && isMoving) {
      end();
      onMoving(null);
    } else return;
    event.preventDefault();
  };
  const id = `line-${line.triggers[0]!.triggerId}`;
  return (
    <div class={`chart-line ${line.side === 'buy' ? 'entry' : line.op === '>=' ? 'gain' : 'loss'} ${isMoving ? 'moving' : ''}`}>
      <div class="chart-label">
        <div
          role="slider"
          tabIndex={0}
          aria-orientation="vertical"
          aria-labelledby={id}
          aria-describedby="line-help"
          aria-readonly={!canMove}
          aria-valuemin={-100}
          aria-valuemax={Math.max(percentsShown, Math.ceil(percent ?? 0))}
          aria-valuenow={Math.round(percent ?? 0)}
          aria-valuetext={`${priceText(unit, price)}${percent === null ? '' : `, ${signed(percent)} from now`}`}
          onKeyDown={onKeyDown}
          onBlur={() => isMoving && !isLocked && onMoving(null)}
          {...handlers}
        >
          <span id={id}>{text}</span>{' '}
          <span>
            {priceText(unit, price)}
            {isMoving && percent !== null && ` (${signed(percent)})`}
          </span>
        </div>
        <Button class="plain" tabIndex={-1} disabled={isLocked} aria-label={`Cancel: ${text}`} onClick={onCancel}>
          ×
        </Button>
      </div>
    </div>
  );
}

/** What makes an element follow the pointer. Nothing is applied before the pointer is released, and nothing if Escape or the system ends it. */
function useDrag({ price, toPrice, toClientY, onMoving, onApply }: HandleProps, canMove: boolean) {
  const grabbed = useRef<{ readonly y: number; readonly offset: number; price: number | null } | null>(null);
  const end = (): number | null => {
    const last = grabbed.current?.price ?? null;
    grabbed.current = null;
    return last;
  };
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      if (!canMove || event.button !== 0) return;
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      const offset = event.clientY - toClientY(price);
      // A line at the edge of the chart jumps to the pointer.
      grabbed.current = { y: event.clientY, offset: Math.abs(offset) > labelPixels ? 0 : offset, price: null };
    },
    onPointerMove: ({ clientY }: PointerEvent) => {
      const { current } = grabbed;
      if (current === null || (current.price === null && Math.abs(clientY - current.y) < leastDragPixels)) return;
      const at = toPrice(clientY - current.offset);
      if (at === null || at <= 0) return;
      current.price = at;
      onMoving(at);
    },
    onPointerUp: () => {
      const last = end();
      if (last !== null) onApply(last);
    },
    onPointerCancel: () => {
      if (end() !== null) onMoving(null);
    },
  };
  return { handlers, end };
}
