import type { Html } from './html.ts';

const entities: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

/** Text whose characters HTML had escaped. */
export function plainText(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity]!);
}

/** The Markdown form of HTML from the functions of this folder. Text outside of code keeps `&lt;`, so it never becomes HTML again. */
export function markdownOf({ html }: Html): string {
  const held: string[] = [];
  // NUL cannot occur in the text: it marks what later steps must not change.
  const hold = (text: string): string => `\0${held.push(text) - 1}\0`;
  const restore = (text: string): string => text.replaceAll(/\0(\d+)\0/g, (_, at: string) => held[Number(at)]!);
  const cellsOf = (row: string): string[] =>
    [...row.matchAll(/<t[hd]>(.*?)<\/t[hd]>/g)].map(([, cell = '']) => restore(withoutTags(cell)).replaceAll('|', '\\|').trim());

  const text = html
    .replaceAll(/<pre><code class="language-(\w+)">([^]*?)<\/code><\/pre>/g, (_, language: string, code: string) =>
      hold(`\n\n\`\`\`${language}\n${plainText(code)}\n\`\`\`\n\n`),
    )
    .replaceAll(/<code>([^]*?)<\/code>/g, (_, code: string) => hold(`\`${plainText(code)}\``))
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<a href="([^"]*)">(.*?)<\/a>/g, (_, address: string, name: string) => `[${name}](${markdownAddress(address)})`)
    .replaceAll(/<table>(.*?)<\/table>/g, (_, body: string) => {
      const [head = [], ...rows] = [...body.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row = '']) => cellsOf(row));
      return hold(`\n\n${[head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')}\n\n`);
    })
    .replaceAll(/<details class="try".*?<\/details>|<div data-console.*?<\/div>/g, '')
    .replaceAll(/<summary>(.*?)<\/summary>/g, '\n\n#### $1\n\n')
    .replaceAll(/<h(\d)[^>]*>(.*?)<\/h\d>/g, (_, level: string, title: string) => `\n\n${'#'.repeat(Number(level))} ${title.trim()}\n\n`)
    .replaceAll(/<dt>(.*?)<\/dt>/g, '\n- $1: ')
    .replaceAll(/<li[^>]*>/g, '\n- ')
    .replaceAll(/<\/?(?:p|ul|dl|section|div)\b[^>]*>/g, '\n\n');
  const lines = withoutTags(text).split('\n');
  return `${restore(lines.map((line) => line.trim()).join('\n'))
    .replaceAll(/\n *(\n *)+\n/g, '\n\n')
    .trim()}\n`;
}

function withoutTags(text: string): string {
  return text.replaceAll(/<[^>]*>/g, '').replaceAll(/&(?:quot|#39);/g, (entity) => entities[entity]!);
}

/** A page links to the Markdown form of the others. */
function markdownAddress(address: string): string {
  const page = /^\/docs\/([\w-]+)(?:#.*)?$/.exec(address)?.[1];
  return page === undefined ? address : `/docs/${page}.md`;
}
