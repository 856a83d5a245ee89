import json, os, tempfile

PATH = os.path.join(tempfile.gettempdir(), "warpline-zones.json")


def settings():
    with open(PATH) as f:
        return json.load(f)


def fee(parcel):
    zones = settings()
    z = zones["zones"][parcel % 400]
    return z["base"] + z["per_kg"] * (parcel % 13)


def main():
    with open(PATH, "w") as f:
        json.dump({"zones": [{"base": i, "per_kg": i / 7, "name": f"zone {i}", "towns": [f"town{k}" for k in range(40)]} for i in range(400)]}, f)
    total = 0
    for parcel in range(900):
        total += fee(parcel)
    print(round(total, 2))


main()
