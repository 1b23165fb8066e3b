import type { EndpointSpec } from '../../rest/endpoint.ts';

/** The table of endpoints in REFERENCE.md, as Markdown. It depends on the endpoints only. */
export function generateEndpointTable(endpoints: readonly EndpointSpec[]): string {
  const rows = endpoints.map((spec) => {
    const { method, path, withApiPrefix, access, summary, errors, deprecated } = spec;
    const codes = errors.map((code) => `\`${code}\``).join(' ');
    const end = deprecated === undefined ? '' : ` Deprecated, works until ${deprecated.sunset}.`;
    return [`${method} \`${path}\``, withApiPrefix ? 'yes' : '–', access, `${summary}${end}`, codes === '' ? '–' : codes];
  });
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const head = ['method and path', 'also under `/api`', 'access', 'purpose', 'errors of its own'];
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
