import { Type } from 'typebox';
import { errorTable, type ErrorCode } from '../../errors/codes.ts';

const codes = Object.keys(errorTable) as ErrorCode[];

/** The body of every answer with a status of 400 or more. */
export const ErrorAnswer = Type.Object(
  {
    error: Type.Object(
      {
        code: Type.Enum(codes, { description: 'From the table of errors; stays the same where the message changes.' }),
        message: Type.String({ description: 'For people.' }),
        retryable: Type.Boolean({ description: 'The same request may succeed later.' }),
        details: Type.Record(Type.String(), Type.Unknown(), { description: 'What the code says more, by the table of errors.' }),
      },
      { additionalProperties: false },
    ),
    errors: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The same as texts, at the endpoints for clients of PumpPortal alone: code and message, then each wrong field.',
      }),
    ),
    requestId: Type.String({ description: 'As in `X-Request-Id`; leads to the request in the log.' }),
  },
  { additionalProperties: false, title: 'error' },
);
