import { many, usd, whole } from '../../format/price.ts';
import { duration } from '../../format/text.ts';
import { Empty, Fact } from '../../parts/parts.tsx';

/** What the leading ingest process reports, as in `GET /status`. A field is null if it is unknown. */
export interface ChainStatus {
  readonly ingest: string;
  readonly version: string | null;
  readonly slot: number | null;
  readonly slotAgeMs: number | null;
  readonly watermark: number | null;
  readonly solUsd: { readonly price: number; readonly ageMs: number } | null;
  readonly gaps: { readonly filled: number | null; readonly lostTransactions: number | null; readonly lostSlots: number | null };
  readonly forks: { readonly deadSlots: number | null; readonly retracted: number | null };
}

/** The stream has no values in USD with an older price. */
const staleAfterMs = 60_000;

interface ChainProps {
  readonly chain: ChainStatus | null;
  readonly lag: { readonly slots: number | null; readonly ms: number | null };
  /** Gaps that this gateway reported to its clients. */
  readonly gaps: number;
}

/** How far the stream has followed the chain, and what is missing in it. */
export function Chain({ chain, lag, gaps }: ChainProps) {
  return (
    <section class="card" aria-labelledby="chain">
      <h2 id="chain">Lag and gaps</h2>
      {chain === null && <Empty>No ingest process leads. The stream has stopped.</Empty>}
      <dl class="facts list">
        {chain !== null && (
          <Fact name="Newest slot" title="As of the last report of ingest, which reports four times a second">
            {known(chain.slot)} <small>{lag.ms === null ? '' : `${duration(lag.ms)} ago`}</small>
          </Fact>
        )}
        <Fact name="Behind the chain" title="Compared with the newest slot that nodes report to this gateway">
          {lag.slots === null ? 'unknown' : slots(lag.slots)}
        </Fact>
        {chain !== null && <FromIngest chain={chain} />}
        <Fact name="Losses reported to clients" title="Since the start of this gateway. A client that resumes too late is not counted">
          {whole(gaps)}
        </Fact>
      </dl>
    </section>
  );
}

function FromIngest({ chain: { slot, watermark, solUsd, gaps, forks } }: { readonly chain: ChainStatus }) {
  const lost = (gaps.lostTransactions ?? 0) + (gaps.lostSlots ?? 0) > 0;
  return (
    <>
      <Fact name="Watermark" title="Up to this slot the stream is complete: it was compared with the records of nodes">
        {known(watermark)} <small>{watermark === null || slot === null ? '' : `${slots(Math.max(0, slot - watermark))} behind`}</small>
      </Fact>
      <Fact name="SOL price">
        {solUsd === null ? (
          'none yet'
        ) : (
          <>
            {usd(solUsd.price)} <small class={solUsd.ageMs > staleAfterMs ? 'sell' : ''}>{duration(solUsd.ageMs)} old</small>
          </>
        )}
      </Fact>
      <Fact name="Gaps filled" title="Transactions that no node delivered live, and that were read from history">
        {many(gaps.filled, 'transaction')}
      </Fact>
      <Fact name="Gaps lost" title="What no node has any more. Clients received a gap">
        <span class={lost ? 'sell' : ''}>
          {many(gaps.lostTransactions, 'transaction')}, {many(gaps.lostSlots, 'slot')}
        </span>
      </Fact>
      <Fact name="Forks" title="Slots that were seen and did not become part of the chain">
        {many(forks.deadSlots, 'dead slot')}, {many(forks.retracted, 'event')} retracted
      </Fact>
    </>
  );
}

const known = (value: number | null): string => (value === null ? 'unknown' : whole(value));
const slots = (value: number): string => many(value, 'slot');
