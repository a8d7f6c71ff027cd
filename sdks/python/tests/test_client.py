"""The client against a scripted server."""

import unittest

from fake_server import DROPPED, FakeServer
from meantime import Client, Problem, Unavailable


class Clients(unittest.TestCase):
    def setUp(self):
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.client = Client(self.server.url + "/")
        self.addCleanup(self.client.close)

    def test_a_start_sends_what_was_given_and_nothing_else(self):
        self.server.on("/api/v1/instances", lambda body: (201, {"id": "in_1"}))
        started = self.client.start("checkout", {"id": 7}, wait="PT10S", idempotency_key="k")
        self.assertEqual(started, {"id": "in_1"})
        method, path, body, headers = self.server.calls[0]
        self.assertEqual((method, path), ("POST", "/api/v1/instances?wait=PT10S"))
        self.assertEqual(body, {"definition": "checkout", "input": {"id": 7}})
        self.assertEqual(headers["idempotency-key"], "k")

    def test_one_call_starts_one_instance_however_often_it_is_sent(self):
        answers = iter([(201, {"id": "in_1"}), DROPPED, (500, {}), DROPPED, (201, {"id": "in_2"})])
        self.server.on("/api/v1/instances", lambda body: next(answers))
        self.client.start("checkout")
        self.assertEqual(self.client.start("checkout"), {"id": "in_2"})
        keys = [it[3]["idempotency-key"] for it in self.server.calls]
        self.assertEqual(len(keys), 5)
        self.assertEqual(len({*keys}), 2)
        self.assertEqual(len({*keys[1:]}), 1)

    def test_one_call_publishes_one_message_however_often_it_is_sent(self):
        answers = iter([DROPPED, (503, {}), (202, {"id": "m"})])
        self.server.on("/api/v1/messages", lambda body: next(answers))
        self.client.publish("paid", {"amount": 1})
        ids = [it[2]["id"] for it in self.server.calls]
        self.assertEqual((len(ids), len({*ids})), (3, 1))

    def test_an_instance_is_suspended_and_resumed_however_often_it_is_sent(self):
        answers = iter([DROPPED, (200, {"id": "in_1"})])
        self.server.on("/api/v1/instances/in_1/suspend", lambda body: next(answers))
        self.server.on("/api/v1/instances/in_1/resume", lambda body: (200, {"id": "in_1"}))
        self.client.suspend("in_1", "orders are lost", timers="run")
        self.client.resume("in_1")
        bodies = [it[2] for it in self.server.calls]
        suspension = {"timers": "run", "reason": "orders are lost"}
        self.assertEqual(bodies, [suspension, suspension, {}])

    def test_a_signal_is_never_sent_twice_when_the_first_may_have_arrived(self):
        path = "/api/v1/instances/in_1/signals/go"
        self.server.on("/api/v1/why/x", lambda body: (200, {}))
        for trouble in (DROPPED, (500, {}), (503, {})):
            self.client.why("x")  # So that the signal uses a kept connection.
            self.server.calls.clear()
            self.server.on(path, lambda body: trouble)
            with self.assertRaises(Unavailable) as caught:
                self.client.signal("in_1", "go")
            self.assertFalse(caught.exception.unsent)
            self.assertEqual(len(self.server.calls), 1)

    def test_a_signal_that_was_refused_unread_is_sent_again(self):
        answers = iter([(429, {}, {"retry-after": "0"}), (202, None)])
        self.server.on("/api/v1/instances/in_1/signals/go", lambda body: next(answers))
        self.client.signal("in_1", "go")
        self.assertEqual(len(self.server.calls), 2)

    def test_a_server_that_asks_to_come_back_much_later_is_told_of_at_once(self):
        answer = (503, {}, {"retry-after": "3600"})
        self.server.on("/api/v1/why/x", lambda body: answer)
        with self.assertRaises(Unavailable) as caught:
            self.client.why("x")
        self.assertEqual(caught.exception.retry_after, 3600)
        self.assertEqual(len(self.server.calls), 1)

    def test_lists_are_read_page_after_page(self):
        pages = iter([{"items": [1, 2], "nextCursor": "c"}, {"items": [3]}])
        self.server.on("/api/v1/instances", lambda body: (200, next(pages)))
        self.assertEqual(list(self.client.instances(status="running")), [1, 2, 3])
        paths = [it[1] for it in self.server.calls]
        self.assertEqual(
            paths,
            ["/api/v1/instances?status=running", "/api/v1/instances?status=running&cursor=c"],
        )

    def test_names_in_paths_are_escaped(self):
        self.server.on("/api/v1/instances/in_1/signals/a%2Fb%20c", lambda body: (202, None))
        self.assertIsNone(self.client.signal("in_1", "a/b c", {"ok": True}))

    def test_a_refusal_is_a_problem_with_its_code(self):
        answer = {"code": "definition_invalid", "detail": "2 errors", "diagnostics": [{"line": 1}]}
        self.server.on("/api/v1/definitions", lambda body: (422, answer))
        with self.assertRaises(Problem) as caught:
            self.client.deploy("return 1 +", name="broken")
        self.assertEqual(caught.exception.code, "definition_invalid")
        self.assertEqual(caught.exception.status, 422)
        self.assertEqual(caught.exception.diagnostics, [{"line": 1}])
        self.assertEqual(self.server.calls[0][2], "return 1 +")

    def test_an_overloaded_or_absent_server_is_unavailable(self):
        self.server.on("/api/v1/why/x", lambda body: (503, {}))
        with self.assertRaises(Unavailable):
            self.client.why("x")
        with self.assertRaises(Unavailable):
            Client("http://127.0.0.1:1").why("x")


if __name__ == "__main__":
    unittest.main()
