import os

import requests
from solders.transaction import VersionedTransaction

host, key, wallet = os.environ["PUMPPORTAL_HOST"], os.environ["API_KEY"], os.environ["WALLET"]
order = {
    "action": "buy",
    "mint": os.environ["MINT"],
    "amount": 0.01,
    "denominatedInSol": "true",
    "slippage": 20,
    "priorityFee": 0.00005,
    "pool": "auto",
}

# https://pumpportal.fun/local-trading-api/trading-api
response = requests.post(url=f"http://{host}/api/trade-local", data={"publicKey": wallet, **order})
assert response.status_code == 200, response.text
payer = str(VersionedTransaction.from_bytes(response.content).message.account_keys[0])
assert payer == wallet, payer

# Python's booleans become `True` and `False` in a form.
flags = {"denominatedInSol": True, "skipPreflight": False, "jitoOnly": True}
response = requests.post(url=f"http://{host}/api/trade?api-key={key}&cluster=mainnet", data={**order, **flags})
data = response.json()
assert data.get("signature") and not data.get("errors"), data
print(f"transaction of {payer}; signature {data['signature']}")
