import { useEffect, useRef } from 'preact/hooks';
import { nameOf, namesVersion } from '../state/metadata/names.ts';
import { shownSymbol } from '../parts/token-name.tsx';
import { useStore } from '../state/store.ts';
import type { Place } from '../state/router.ts';
import { titleOf } from './titles.ts';

/**
 * Names the page in the title of the document, and moves the focus to its content after each change: without a new document, the browser does
 * neither. Draws nothing.
 */
export function PageTitle({ place: { page, id } }: { readonly place: Place }) {
  useStore(namesVersion);
  const title = titleOf(
    { page, id },
    page === 'token' && nameOf(id)?.symbol != null ? shownSymbol({ mint: id, symbol: nameOf(id)!.symbol }) : null,
  );
  useEffect(() => {
    document.title = title;
  }, [title]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) document.querySelector('main')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [page, id]);
  return null;
}
