import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { moveFocus } from '../parts/move-focus.ts';
import { Fault } from '../parts/parts.tsx';
import type { SearchIndex } from '@sluice/shared/wire/rest/operations/documents.ts';
import { findSections, type FoundSection } from './search-index.ts';

const maxShown = 25;

/** Searches the text of all pages. While the reader searches, what was found is shown instead of the contents. */
export function Search({ contents }: { readonly contents: HTMLElement }) {
  const [query, setQuery] = useState('');
  const [index, setIndex] = useState<SearchIndex | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const found = useMemo(() => (index === null ? null : findSections(index, query, maxShown)), [index, query]);
  const isSearching = query.trim() !== '';
  // Before the browser draws: the contents and the result must never be visible together.
  useLayoutEffect(() => void (contents.hidden = isSearching), [isSearching]);

  const load = async (): Promise<void> => {
    if (index !== null) return;
    try {
      const answer = await fetch('/docs/search.json');
      if (!answer.ok) throw new Error(`The search needs its index: HTTP ${answer.status}`);
      setIndex((await answer.json()) as SearchIndex);
      setFault(null);
    } catch (error) {
      setFault(faultText(error));
    }
  };
  const clear = (): void => {
    setQuery('');
    field.current?.focus();
  };
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const [best] = found?.sections ?? [];
        if (best !== undefined) location.href = best.href;
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') clear();
        else moveFocus(event);
      }}
    >
      <input
        ref={field}
        id="search"
        type="search"
        placeholder="Search"
        aria-label="Search the documentation"
        autoComplete="off"
        maxLength={100}
        value={query}
        onFocus={() => void load()}
        onInput={({ currentTarget }) => setQuery(currentTarget.value)}
      />
      <p id="found" class="faint" role="status">
        {isSearching ? countText(found) : ''}
      </p>
      <Fault text={fault} />
      {isSearching && found !== null && found.sections.length > 0 && (
        <ul class="found">
          {found.sections.map((section) => (
            <li key={section.href}>
              <FoundLink section={section} />
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

function countText(found: ReturnType<typeof findSections> | null): string {
  if (found === null) return 'Reading the pages …';
  if (found.total === 0) return 'Nothing found. All words must occur below one heading.';
  const count = found.total === 1 ? '1 place' : `${found.total} places`;
  return found.total > maxShown ? `${count}; the best ${maxShown} are shown` : count;
}

function FoundLink({ section: { href, page, title, excerpt } }: { readonly section: FoundSection }) {
  return (
    <a href={href}>
      <b>{title}</b>
      {title !== page && <small>{page}</small>}
      <span>{excerpt.map(({ text, isMatch }, at) => (isMatch ? <mark key={at}>{text}</mark> : text))}</span>
    </a>
  );
}
