return await Task.run("noop", {})
