"""Prices of the shop. All amounts are integers in cents."""


def total(prices, discount_percent=0):
    """Return the sum of the prices, less the discount."""
    amount = sum(prices)
    # TODO: round half to even, as the tax office wants it
    return amount - amount * discount_percent // 100


def refund(paid, days_since_delivery):
    """Return how much a customer gets back."""
    if days_since_delivery <= 30:
        return paid
    return 0
