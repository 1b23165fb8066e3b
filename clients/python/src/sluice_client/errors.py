"""The one error of the client."""

from typing import Any, Mapping


class SluiceError(Exception):
    """A request or a subscription failed.

    `code` is from sluice's table of errors, or one of three of the client: `NETWORK` (no answer), `TIMEOUT`, `MALFORMED` (the answer is not
    from sluice). `retryable`: the same request may succeed later. `status`: the HTTP status, None if no answer arrived.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        retryable: bool,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.status = status
        self.details: Mapping[str, Any] = details or {}
        self.request_id = request_id
