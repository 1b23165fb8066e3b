import { pageAnswer } from '@sluice/gateway/http/answers.ts';
import { apiKeyOf } from '@sluice/gateway/http/callers/credentials.ts';
import type { BrowserPages } from '@sluice/gateway/http/router.ts';
import type { HttpRequest } from '@sluice/gateway/transport/transport.ts';
import { docsAssets, securityHeaders } from './serve-page.ts';

/** Addresses of answers for programs, and the part of the dashboard that shows the same to people. */
const places: ReadonlyMap<string, string> = new Map([['/status', '/#/status']]);
const sections = ['Live', 'Orders', 'Wallets', 'API Keys', 'Status'] as const;
/** What `HttpURLConnection` of Java sends by default. */
const ofJava = /^text\/html, image\/gif, image\/jpeg,/;

/** Whether a browser opens the address: it lists HTML and no JSON, and has no API key. */
function wantsPage(request: HttpRequest): boolean {
  if ((request.method !== 'GET' && request.method !== 'HEAD') || apiKeyOf(request) !== null) return false;
  const accept = request.header('accept') ?? '';
  return /\btext\/html\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(accept) && !accept.includes('application/json') && !ofJava.test(accept);
}

/** The answers for browsers. `folder`: where the compiler put the pages. */
export function browserPages(folder?: string): BrowserPages {
  const styles = docsAssets(folder).filter((address) => address.endsWith('.css'));
  const headers = { ...securityHeaders, 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store', Vary: 'Accept' };
  const body = missingPage(styles);
  return {
    insteadOf: (path) => {
      const location = places.get(path);
      if (location === undefined) return null;
      const moved = { Location: location, 'Cache-Control': 'no-store', Vary: 'Accept' };
      return (request) => (wantsPage(request) ? { ...pageAnswer(moved, ''), status: 303 } : null);
    },
    missing: (request) => (wantsPage(request) ? { ...pageAnswer(headers, body), status: 404 } : null),
  };
}

/** It contains nothing of the request. */
function missingPage(styles: readonly string[]): string {
  const link = (name: string): string => `<li><a href="/#/${name.toLowerCase().replace(' ', '-')}">${name}</a></li>`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>No such page – sluice</title>
    <link rel="icon" href="data:," />
    ${styles.map((address) => `<link rel="stylesheet" href="${address}" />`).join('')}
  </head>
  <body>
    <nav aria-label="Sections">
      <ul>${sections.map(link).join('')}<li><a href="/docs">Docs</a></li></ul>
    </nav>
    <main>
      <h1>No such page</h1>
      <p>Nothing is at this address. The <a href="/">dashboard</a> and the <a href="/docs">documentation</a> list what there is.</p>
      <p>Programs that ask for JSON get an error with the code <code>NOT_FOUND</code> here.</p>
    </main>
  </body>
</html>
`;
}
