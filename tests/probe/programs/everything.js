const told = async (fs, crypto, util, vm) => {
  const folders = [fs.mkdtempSync("a-"), await fs.promises.mkdtemp("b-"),
    await util.promisify(fs.mkdtemp)("c-")];
  folders.forEach((folder) => fs.rmdirSync(folder));
  const hex = (bytes) => Buffer.from(bytes.buffer || bytes).toString("hex");
  const soon = (name, ...given) => new Promise((resolve) =>
    crypto[name](...given, (error, value) => resolve(value)));
  class Sub extends Date {}
  return {
    iso: new Date().toISOString(), now: Date.now(), text: Date(), sub: new Sub().getTime(),
    json: JSON.stringify({ at: new Date() }), origin: performance.timeOrigin,
    intl: new Intl.DateTimeFormat("en", { timeStyle: "full", dateStyle: "full" }).format(),
    parts: new Intl.DateTimeFormat("en", { year: "numeric", fractionalSecondDigits: 3 })
      .formatToParts(),
    random: [Math.random(), ...[1, 2].map(Math.random)],
    uuid: [crypto.randomUUID(), globalThis.crypto.randomUUID(), crypto.webcrypto.randomUUID()],
    bytes: crypto.randomBytes(8).toString("hex"), more: hex(await soon("randomBytes", 8)),
    filled: crypto.randomFillSync(new Uint32Array(4), 1, 2).join(),
    later: (await soon("randomFill", Buffer.alloc(8), 2)).toString("hex"),
    values: hex(globalThis.crypto.getRandomValues(new Uint16Array(4))),
    other: hex(crypto.getRandomValues(new Uint8Array(4))),
    int: crypto.randomInt(1e6), between: await soon("randomInt", -1e9, 1e9), folders,
    realm: vm.runInNewContext("[Date.now(), new Date().toISOString(), Math.random()].join()"),
  };
};
