import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The dashboard: one page that loads nothing from elsewhere. */
export interface DashboardPage {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Composes the page from the files beside this one. The policy allows only its own style and script, by their hashes. */
export function readDashboard(): DashboardPage {
  const part = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
  const style = ['page.css', 'api-keys.css'].map(part).join('');
  const script = ['page.js', 'wallets.js', 'api-keys.js'].map(part).join('');
  // Functions as replacements: `$` in a text is no pattern.
  const html = part('page.html')
    .replace(/<style>[^<]*<\/style>/, () => `<style>${style}</style>`)
    .replace(/<script>[^<]*<\/script>/, () => `<script>${script}</script>`);
  return {
    body: Buffer.from(html),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': [
        "default-src 'none'",
        `style-src '${hashOf(style)}'`,
        `script-src '${hashOf(script)}'`,
        "connect-src 'self'",
        'img-src data:',
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  };
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
