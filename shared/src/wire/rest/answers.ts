import { Type } from 'typebox';
import { errorTable, type ErrorCode } from '../errors.ts';
import { maxFaults } from '../schema-faults.ts';
import { Closed, FreeText, RequestId, Titled } from '../values/values.ts';

const codes = Object.keys(errorTable) as ErrorCode[];

/** The body of every answer with a status of 400 or more. */
export const ErrorAnswer = Titled('error', {
  error: Closed({
    code: Type.Enum(codes, { description: 'From the table of errors. It stays the same even if the message changes.' }),
    message: FreeText('For people.'),
    retryable: Type.Boolean({ description: 'The same request may succeed later.' }),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Further data; the table of errors shows the fields of each code.',
    }),
  }),
  errors: Type.Optional(
    Type.Array(FreeText(), {
      maxItems: 1 + maxFaults,
      description:
        'Only at the endpoints for clients of PumpPortal: the same error as strings: first the code and message, then each wrong field.',
    }),
  ),
  requestId: RequestId('The value of `X-Request-Id`, which identifies the request in the log.'),
});
