"""What a stream program must see: each acknowledgement, a creation, and trades of new tokens."""

import json
import os
import sys

URL = f"ws://{os.environ['PUMPPORTAL_HOST']}/api/data"
FIRST = [{"method": "subscribeNewToken"}, {"method": "subscribeMigration"}]


class Seen:
    def __init__(self):
        self.acks = self.creates = self.trades = 0

    def take(self, text):
        """Takes one message, and returns the messages to send."""
        event = json.loads(text)
        if "message" in event and "mint" not in event:
            self.acks += 1
        elif event["txType"] == "create":
            self.creates += 1
            assert event["mint"].endswith("pump"), event
            return self.followed(event)
        elif event["txType"] in ("buy", "sell"):
            self.trades += 1
            assert event["newTokenBalance"] is None or event["newTokenBalance"] >= 0, event
            assert event["tokenAmount"] > 0, event
        if self.acks >= 4 and self.creates >= 2 and self.trades >= 2:
            print(f"acks {self.acks}, creates {self.creates}, trades {self.trades}", flush=True)
            os._exit(0)
        return []

    @staticmethod
    def followed(event):
        token = {"method": "subscribeTokenTrade", "keys": [event["mint"]]}
        account = {"method": "subscribeAccountTrade", "keys": [event["traderPublicKey"]]}
        return [token, account]


def fail(reason):
    print(reason, file=sys.stderr, flush=True)
    os._exit(1)
