import type { ComponentChildren } from 'preact';
import { openToken } from './links.tsx';

export interface Column<T> {
  readonly head: ComponentChildren;
  readonly cell: (row: T) => ComponentChildren;
  /** Of the heading and the cells. `wide-only` columns are hidden in a narrow card. */
  readonly class?: string;
  /** What a narrow card shows below `cell`: the column with this heading, or something else. */
  readonly second?: string | Pick<Column<T>, 'head' | 'cell'>;
  readonly hint?: string;
  /** The hint of a cell. */
  readonly title?: (row: T) => string;
}

interface TableProps<T> {
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly caption?: ComponentChildren;
  readonly classOf?: (row: T) => string;
  /** The token whose page a click on the row opens. */
  readonly mintOf?: (row: T) => string;
  /** What is below the row, over all columns, each with the class of its cell. */
  readonly below?: (row: T) => readonly (readonly [className: string, content: ComponentChildren])[];
}

export function Table<T>({ columns, rows, keyOf, caption, classOf, mintOf, below }: TableProps<T>) {
  const secondOf = ({ second }: Column<T>) => (typeof second === 'string' ? columns.find(({ head }) => head === second) : second);
  return (
    <table>
      {caption !== undefined && <caption>{caption}</caption>}
      <thead>
        <tr>
          {columns.map((column, at) => (
            <th key={at} class={column.class} title={column.hint}>
              {column.head}
              {column.second !== undefined && <span class="second-line">{secondOf(column)?.head}</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const [key, mint] = [keyOf(row), mintOf?.(row)];
          const className = [mint === undefined ? '' : 'opens', classOf?.(row) ?? ''].join(' ').trim();
          return [
            <tr key={key} data-id={key} class={className} onClick={mint === undefined ? undefined : (event) => openToken(event, mint)}>
              {columns.map((column, at) => (
                <td key={at} class={column.class} title={column.title?.(row)}>
                  {column.cell(row)}
                  {column.second !== undefined && <span class="second-line">{secondOf(column)?.cell(row)}</span>}
                </td>
              ))}
            </tr>,
            ...(below?.(row) ?? []).map(([name, content]) => (
              <tr key={`${key} ${name}`} class="below">
                <td colSpan={columns.length} class={name}>
                  {content}
                </td>
              </tr>
            )),
          ];
        })}
      </tbody>
    </table>
  );
}
