/**
 * Why nothing was fetched. `refused`: the address may not be requested (scheme, host, port, credentials, private network). `unresolved`,
 * `unreachable`, `status`, `redirects`: the other side does not return it. `timeout`, `too_large`, `encoding`, `malformed`: what it returns
 * cannot be used. `busy`, `closed`: the reason is on our side.
 */
export type FetchFault =
  | 'refused'
  | 'unresolved'
  | 'unreachable'
  | 'status'
  | 'redirects'
  | 'timeout'
  | 'too_large'
  | 'encoding'
  | 'malformed'
  | 'busy'
  | 'closed';
