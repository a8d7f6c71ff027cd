/* meantime
name: trip
deadline: PT30M
tags: [example]
*/
// Books a trip as a saga: what has been booked is undone in reverse order when a later part fails.
// Input: { traveller, flight, hotel, car? }.
export default async function (input) {
  const undo = []

  try {
    const flight = await Task.run("book-flight", { traveller: input.traveller, flight: input.flight })
    undo.unshift({ type: "cancel-flight", input: { booking: flight.booking } })

    const hotel = await Task.run("book-hotel", { traveller: input.traveller, hotel: input.hotel })
    undo.unshift({ type: "cancel-hotel", input: { booking: hotel.booking } })

    const car = input.car
      ? await Task.run("book-car", { traveller: input.traveller, car: input.car })
      : null

    return { status: "booked", flight: flight.booking, hotel: hotel.booking, car: car?.booking ?? null }
  } catch (error) {
    for (const step of undo) {
      // An undoing that fails for good must be seen by a person: it is not caught.
      await Task.run(step.type, step.input, { retry: { maxAttempts: 10, backoff: "PT5S", maxDelay: "PT5M" } })
    }
    return { status: "not-booked", because: error.code ?? error.message, undone: undo.map(step => step.type) }
  }
}
