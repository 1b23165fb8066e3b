/** An IPv4 address, or an IPv6 address in brackets, as `URL` writes them. */
const ipAddress = /^\[|^\d+\.\d+\.\d+\.\d+$/;
const shownLabels = 2;

/**
 * The last two labels of the host of an endpoint, such as `helius-rpc.com`, which may be shown to everybody. Null for an IP address or a name
 * without a dot. Nothing else of the URL may be shown: providers put keys into the path, the query, the user name and the subdomain.
 */
export function shownHost(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { hostname } = new URL(url);
  if (ipAddress.test(hostname)) return null;
  const labels = hostname.split('.').filter((label) => label !== '');
  return labels.length < shownLabels ? null : labels.slice(-shownLabels).join('.');
}
