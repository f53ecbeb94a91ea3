"use strict";

// Tables that a specification reads FROM files: this page reads the CSV files that are chosen, and sends the columns along.
const Data = (() => {
  const WORDS = /"[^"\n]*"|#.*/g;
  const TABLE = /\bTABLE\s+(\w+)\s+FROM\s+"([^"]+)"(?:\s+COLUMNS?\s+("[^"]+"(?:\s*,\s*"[^"]+")*))?(\s+AS\s+\w+)?/g;
  const chosen = new Map(); // the name of a file -> its columns, each a list of texts
  const last = (path) => path.split("/").at(-1);

  // The rows of a CSV file; a cell between quotation marks may have commas, line ends, and "" for a quotation mark.
  function rows(csv) {
    const found = [[]];
    for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
      found.at(-1).push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
      if (!end) break;
      if (end !== ",") found.push([]);
    }
    return found.filter((row) => row.length > 1 || row[0]);
  }

  async function choose(list) {
    chosen.clear();
    for (const file of list) {
      const [names = [], ...rest] = rows((await file.text()).replace(/^\ufeff/, ""));
      chosen.set(file.name, new Map(names.map((name, i) => [name, rest.map((row) => row[i] ?? "")])));
    }
  }

  const wanted = (text) => [...text.replace(WORDS, (word) => (word[0] === "#" ? "" : word)).matchAll(TABLE)].map(
    ([, name, path, columns, as]) => ({ name, file: last(path), columns: columns && [...columns.matchAll(/"([^"]+)"/g)].map(([, column]) => column), as: Boolean(as) }),
  );

  function table({ file, columns, as }) {
    const has = chosen.get(file);
    const cells = (columns ?? [...(has?.keys() ?? [])]).map((name) => has?.get(name));
    if (!cells.length || cells.includes(undefined)) return undefined; // the service says what is missing
    if (as) return cells[0].map((cell) => cell || null);
    if (cells.length > 1) return cells[0].map((_, i) => cells.map((column) => Number(column[i])));
    const lists = cells[0].some((cell) => /\S\s+\S/.test(cell));
    return cells[0].map((cell) => (lists ? cell.split(/\s+/).map(Number) : Number(cell)));
  }

  const tables = (text) =>
    Object.fromEntries(wanted(text).map((one) => [one.name, table(one)]).filter(([, found]) => found !== undefined));

  // What a reader should know of the files that the text names, each once.
  function says(text) {
    const names = [...new Set(wanted(text).map((one) => one.file))];
    return names.map((name) => {
      const has = chosen.get(name);
      return has ? `${name}: ${[...has.values()][0]?.length ?? 0} rows of ${[...has.keys()].join(", ")}.` : `${name} is not chosen yet.`;
    });
  }

  return { choose, tables, says };
})();
