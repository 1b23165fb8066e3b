"""The one error of the client."""

from collections.abc import Mapping
from typing import Any, Literal

from .wire import ErrorCode

ClientErrorCode = Literal["NETWORK", "TIMEOUT", "MALFORMED", "CLOSED"]


class SluiceError(Exception):
    """A request or a subscription failed.

    `code` is from sluice's table of errors, or one of four of the client: `NETWORK` (no answer), `TIMEOUT`, `MALFORMED` (the answer is not
    from sluice), `CLOSED` (the client was closed). `retryable`: the same request may succeed later. `status`: the HTTP status, None if no
    answer arrived.

    `idempotency_key`: the `Idempotency-Key` of `buy` or `sell`, also if the client generated it; None for other requests. If the outcome is
    unknown, call again with the same body and this key: you get the order that exists, or place the only one.
    """

    def __init__(
        self,
        message: str,
        *,
        code: ErrorCode | ClientErrorCode,
        retryable: bool,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode | ClientErrorCode = code
        self.retryable = retryable
        self.status = status
        self.details: Mapping[str, Any] = details or {}
        self.request_id = request_id
        self.idempotency_key = idempotency_key
