"""Small pieces that several rooms draw: charts, a token by its name, a typed word beside the model's, a part of the
page whose failure leaves the rest, and whether the open view reads the prompt.
"""
