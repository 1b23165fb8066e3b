import { Type } from 'typebox';
import { defineEndpoint } from '../endpoint.ts';
import { Closed, Ms, RequestedIp, Ticket, Titled } from '../../values/values.ts';

export const wsTicketEndpoint = defineEndpoint({
  id: 'wsTicket',
  method: 'POST',
  path: '/api/ws-ticket',
  withApiPrefix: false,
  access: 'stream',
  tag: 'keys',
  summary: 'A ticket with which a browser can open one stream without knowing the key.',
  description:
    'Connect to `/api/data?ticket=TICKET` before it expires. It works once, on any gateway, and is void when the key is revoked. ' +
    'The connection counts as a connection of the key, and its handshake as a request.',
  body: Closed({
    address: Type.Optional(
      RequestedIp('The only IP address that may use the ticket. It replaces the addresses to which the key is limited.'),
    ),
  }),
  answer: Titled('ticket', { ticket: Ticket('43 characters that need no escaping in a URL.'), expiresInMs: Ms('Time until it expires.') }),
  errors: ['UPSTREAM_UNAVAILABLE'],
});
