import { Type } from 'typebox';
import { defineEndpoint } from './endpoint.ts';

export const wsTicketEndpoint = defineEndpoint({
  id: 'wsTicket',
  method: 'POST',
  path: '/api/ws-ticket',
  bothForms: false,
  access: 'stream',
  tag: 'keys',
  summary: 'A ticket with which a browser opens one stream without being shown the key.',
  description:
    'Connect to `/api/data?ticket=TICKET` within the time given; it is good once, on any gateway, and void when the key is revoked. ' +
    'The connection is one of the key, and counts as a request like any handshake.',
  body: Type.Object(
    {
      address: Type.Optional(
        Type.String({
          minLength: 2,
          maxLength: 45,
          description: 'The only IP address from which the ticket may be used, in place of those that the key is limited to.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  answer: Type.Object(
    {
      ticket: Type.String({ description: '43 characters that may stand in a URL as they are.' }),
      expiresInMs: Type.Integer({ minimum: 0 }),
    },
    { additionalProperties: false, title: 'ticket' },
  ),
  errors: ['UPSTREAM_UNAVAILABLE'],
});
