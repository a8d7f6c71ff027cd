"""Workers for the processes in this directory. Start the server with `meantime dev`, then run this file."""

import os

from meantime import BpmnError, Worker

worker = Worker(os.environ.get("MEANTIME_URL", "http://127.0.0.1:8088"), concurrency=20)


# order.bpmn
@worker.task("reserve-goods")
def reserve_goods(order):
    return {"shelf": f"A{order.get('item', 1)}"}


@worker.task("remind-warehouse")
def remind_warehouse(order):
    print("still waiting on shelf", order["shelf"])


@worker.task("send-voucher")
def send_voucher(order, task):
    return {"voucher": task.idempotency_key}


@worker.task("ship")
def ship(order, task):
    return {"parcel": task.idempotency_key}


# complaint.bpmn
@worker.task("refund")
def refund(complaint):
    return {"refunded": complaint.get("amount", 0)}


@worker.task("explain")
def explain(complaint):
    return {"answer": "please read the small print"}


@worker.task("write-note")
def write_note(complaint):
    print("withdrawn:", complaint["complaintId"])


@worker.task("tell-lead")
def tell_lead(complaint):
    print("another day has passed:", complaint["complaintId"])


# nightly_batch.bpmn
@worker.task("find-due")
def find_due(_):
    return {"due": [{"id": 1, "amount": 20}, {"id": 2, "amount": 35}]}


@worker.task("settle")
def settle(variables, task):
    if variables["item"]["amount"] < 0:
        raise BpmnError("NEGATIVE", "an item with a negative amount")
    return {"receipt": task.idempotency_key}


@worker.task("alert")
def alert(variables):
    print("the batch was stopped")


@worker.task("report")
def report(variables):
    print("settled", len(variables["settled"]), "items")


# approvals.bpmn
@worker.task("publish")
def publish(variables):
    return {"published": True}


# trip_saga.bpmn
@worker.task("book-hotel")
def book_hotel(trip, task):
    return {"hotel": task.idempotency_key}


@worker.task("book-car")
def book_car(trip, task):
    return {"car": task.idempotency_key}


@worker.task("book-flight")
def book_flight(trip, task):
    if trip.get("seats", 1) > 9:
        raise BpmnError("FULL", "no seats left")
    return {"flight": task.idempotency_key}


@worker.task("cancel-hotel")
def cancel_hotel(trip):
    print("cancelled", trip["hotel"])


@worker.task("cancel-car")
def cancel_car(trip):
    print("cancelled", trip["car"])


@worker.task("cancel-flight")
def cancel_flight(trip):
    print("cancelled", trip["flight"])


@worker.task("tell-customer")
def tell_customer(trip):
    print("the trip could not be booked")


# payment_deadline.bpmn
@worker.task("ask-for-payment")
def ask_for_payment(payment):
    print("please pay", payment.get("amount"))


@worker.task("collect")
def collect(payment):
    return {"collection": True}


if __name__ == "__main__":
    worker.run()
