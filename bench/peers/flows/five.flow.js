let sum = 0
for (let i = 0; i < 5; i++) {
  sum += await Task.run("noop", { i })
}
return sum
