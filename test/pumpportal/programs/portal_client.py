import os
import time

from pump_portal_mcp_server.config.settings import TradingConfig
from pump_portal_mcp_server.services.portal_client import PortalClient

client = PortalClient(os.environ["API_KEY"], TradingConfig())
mint = os.environ["MINT"]
bought = client.execute_trade("buy", mint, 0.01, "true", slippage=20, priority_fee=0.00005, pool="auto")
assert bought.get("signature") and not bought.get("errors"), bought
# The answer comes before the transaction is in a block.
time.sleep(5)
sold = client.execute_trade("sell", mint, "100%", "false", slippage=20, priority_fee=0.00005, pool="auto")
assert sold.get("signature") and not sold.get("errors"), sold
print(f"signatures {bought['signature']} {sold['signature']}")
