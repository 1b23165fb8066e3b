import { useMemo } from 'preact/hooks';
import { shortAddress } from '../format/text.ts';
import { nameFaultText, readName } from '../state/metadata/read-name.ts';
import { imitatedBy } from '../state/metadata/well-known.ts';

/** A token with the names that its creator chose. */
export interface NamedToken {
  readonly mint: string;
  readonly symbol?: string | null | undefined;
  readonly name?: string | null | undefined;
}

/** A text of a stranger. It is isolated, so that its direction changes nothing around it. */
export function Outside({ text }: { readonly text: string }) {
  return <bdi>{readName(text).text}</bdi>;
}

/** The symbol as it is shown, or the ends of the mint. */
export function shownSymbol({ mint, symbol }: Pick<NamedToken, 'mint' | 'symbol'>): string {
  return readName(symbol ?? '').text || shortAddress(mint);
}

/** The well-known coin for which the token may be taken, and sentences about its names. */
function doubtOf({ mint, symbol, name }: NamedToken) {
  const imitated = imitatedBy(mint, [symbol, name]);
  const faults = new Set([symbol, name].map((text) => readName(text ?? '').fault));
  const isOther = imitated === null ? [] : [`This is not ${imitated}: the well-known coin of this symbol or name has another mint.`];
  return { imitated, texts: [...isOther, ...[...faults].flatMap((fault) => (fault === null ? [] : [nameFaultText(fault)]))] };
}

/** Marks a name that is not plain, or that is taken for a well-known coin. Nothing for other names. */
export function NameMark({ mint, symbol, name }: NamedToken) {
  const { imitated, texts } = useMemo(() => doubtOf({ mint, symbol, name }), [mint, symbol, name]);
  if (texts.length === 0) return null;
  return (
    <span class={`badge ${imitated === null ? 'unusual' : 'imitation'}`} title={texts.join(' ')}>
      {imitated === null ? 'unusual name' : `not ${imitated}`}
    </span>
  );
}

/** The same in sentences, where money is at stake. */
export function NameWarning({ mint, symbol, name }: NamedToken) {
  const { texts } = useMemo(() => doubtOf({ mint, symbol, name }), [mint, symbol, name]);
  if (texts.length === 0) return null;
  return (
    <p class="warn name-warning" role="note">
      {texts.join(' ')} Compare the mint.
    </p>
  );
}

/** The beginning and end of a mint. Names can be chosen freely, mints cannot. */
export function MintEnds({ mint }: { readonly mint: string }) {
  return (
    <code class="mint" title={mint}>
      {shortAddress(mint)}
    </code>
  );
}
