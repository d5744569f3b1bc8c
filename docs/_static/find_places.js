// What the finder (finder.js) finds: the places of the book for what was typed, the best first. It
// looks for the words, for other words of the same family, for other words that mean the same
// (synonyms.js), and for words that are spelled alike; and it compares what was typed with what
// others say who have a symptom. book/finder.py writes places.js, texts.js and synonyms.js.
// finder.js loads all four when the field is used first.
"use strict";

window.workbookFind = (() => {
    const MOST = 8; // places that are shown
    const NEAREST = 80; // places that are looked at more closely
    const CODE = new Set(["call", "attribute", "error"]); // whose name is typed, not said
    const NAMED = new Set(["library", "platform"]); // whose name says what is meant
    const COUNTED = /^(driver|version|error|code|status|cuda)$/; // before a number that counts
    // A time says that something is slow; a unit of memory or an address says nothing.
    const DURATION = /\b\d[\d.,]*\s*(ms|us|s|secs?|seconds?|minutes?)\b/gi;
    const UNIT = /0x[0-9a-f]+|(?<=\d\s*)([kmgt]i?b|%)(?![a-z])/gi;
    const NOTHING = ["page", "No page has these words",
        "Look for your symptom in the list.", "when_something_is_wrong.html", ""];
    const CALL = /^(cu|hip)[a-z]*[A-Z]/;
    // Words that say nothing about what is sought
    const COMMON = new Set((
        "a able about all although always am an and any are as ask asked asks at be " +
        "been being bug but by can cannot could did do does doing done each else even " +
        "every for from get gets getting give given gives go goes going got had happen " +
        "happens has have help here how i if in into is issue it its just know let like " +
        "make makes many may me might more most much multi must my need no not now of " +
        "on one only or other our please possible problem question really say says see " +
        "seem seems should show shows since so some still take taking than that the " +
        "their them then there these they this to too tried try trying two up us use " +
        "using very via want wants was way we were what when where which while who why " +
        "will with without work working works would you your").split(" "));

    // ---- words ----

    // Words of one family have one stem: allocate, allocates, allocation.
    const ENDING = new RegExp("(?:ations?|at(?:ed?|es|ing|ors?)|ions?|ings?|i[sz](?:ed?|es|ing)|" +
        "ies|ed|es|e|y|(?<!s)s)$");
    const known = new Map(); // of a word: its stem
    const stem = (word) => {
        if (!known.has(word)) {
            const short = word.replace(ENDING, "");
            known.set(word, short.length > 2 && /[a-z]/.test(word) ? short : word);
        }
        return known.get(word);
    };
    // "CUDA.jl", "cuda.core" and "C++" are words, and "doesn't" is "does not".
    const plain = (text) => text.replace(/n['\u2019]t\b/g, " not").replace(/['\u2019]/g, "")
        .replace(/(\w)\.(jl|cpp|core)\b/gi, "$1$2").replace(/c\+\+/gi, "cpp");
    const wordsOf = (text) => text.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase()
        .split(/[^a-z0-9]+/).filter(Boolean);
    const stemsOf = (text) => wordsOf(plain(text)).map(stem);

    // A name such as cudaMemPoolTrimTo or free_all_blocks by its words, as a whole, and by what
    // begins with one of its words: "pool", "cudamempooltrimto", "mempooltrimto", "trimto".
    const namesOf = (text) => plain(text).split(/\W+/).flatMap((name) => {
        const words = wordsOf(name);
        const wholes = words.slice(0, -1).map((_, at) => words.slice(at).join(""));
        if (CALL.test(name))
            parts.set(wholes[0], [...words.slice(1), ...wholes.slice(1)].map(stem));
        return [...words, ...(name.includes("_") ? wholes.slice(0, 1) : wholes)];
    });

    // What counts how much; found by trying it with the searches of tests/book/browser.
    const WEIGHTS = {
        // A word in the name of a place, in its sentence, in the rest, and in what is said
        fields: {
            symptom: [3, 1.4, 2, 0.2], library: [5, 1.4, 1], platform: [5, 1.4, 1],
            other: [3, 1.4, 1],
        },
        length: [0.3, 0.3, 0.2, 0], // how much less a word of a long text counts
        enough: 1.5, // more of one word in a place hardly counts
        // Another word, a part of a call, the beginning of a word, one that is spelled alike
        synonym: 0.75, part: 0.35, beginning: 0.7, alike: 0.6,
        // A word that no name has, the name of a library, a call, a number, a phrase
        loose: 0.5, product: 2.2, call: 1.7, digits: 0.3, phrase: 0.6,
        cover: 1.1, // how much what a place lacks of the words counts against it
        together: 0.4, // what all places of one address have together
        often: 0.12, // that many ask for a place
        near: 0.5, // what is said, or a name, like what was typed
        // All as it was typed, three words or two in a row, a name, a name among few words
        whole: 6, three: 0.6, pair: 0.15, name: 60, inside: 2,
        kinds: {
            symptom: 1.5, question: 1.25, library: 1.6, platform: 1.35, bug: 1.35, section: 1.1,
            text: 0.8,
        },
    };

    let places = null; // [{place, group, worth}]
    let groups = 0; // sets of places with one address
    let rows = null; // of a stem: [number of a place, what the word counts there]
    let vocabulary = null; // of a word as it is written: its stem
    let parts = null; // of a call: the stems of its words
    let same = null; // of a stem: other words for it
    let phrases = null; // [stems of a phrase, other words for it]
    let sayings = null; // {at: number of a place, roots, sum} of each name, and of what is said
    let names = null; // the words of the names of libraries and platforms
    let told = null; // words of names and first sentences; a word of other texts counts less

    function prepare() {
        [rows, vocabulary, parts, same] = [new Map(), new Map(), new Map(), new Map()];
        [names, told, phrases] = [new Set(), new Set(), []];
        const texts = Object.entries(window.workbookTexts).flatMap(([name, found]) =>
            found.map(([address, sentence, more]) => ["text", name, sentence, address, more]));
        const all = [...window.workbookPlaces, ...texts];
        const fields = all.map(([, name, sentence, , more, said = ""]) =>
            [name, sentence, more, said].map(namesOf));
        const usual = [0, 1, 2, 3].map((at) =>
            fields.reduce((sum, field) => sum + field[at].length, 0) / all.length + 1);
        const numbers = new Map(); // of an address: the number of its group
        places = all.map((place, at) => {
            const [kind, , , address, , said] = place;
            const worth = WEIGHTS.fields[kind] || WEIGHTS.fields.other;
            const telling = { symptom: 4, library: 1, platform: 1, text: 0 }[kind] ?? 2;
            const sums = new Map();
            fields[at].slice(0, worth.length).forEach((words, field) => {
                const long = WEIGHTS.length[field];
                const share = worth[field] / (1 - long + long * words.length / usual[field]);
                for (const word of words) {
                    const root = stem(word);
                    vocabulary.set(word, root);
                    sums.set(root, (sums.get(root) || 0) + share);
                    if (field < telling) told.add(root);
                    if (NAMED.has(kind) && !field) names.add(root);
                }
            });
            for (const [root, sum] of sums) {
                if (!rows.has(root)) rows.set(root, []);
                rows.get(root).push([at, sum / (sum + WEIGHTS.enough)]);
            }
            const key = kind === "text" ? at : address;
            if (!numbers.has(key)) numbers.set(key, numbers.size);
            const many = (said || "").split("; ").length;
            return { place, group: numbers.get(key),
                worth: (WEIGHTS.kinds[kind] || 1) * (1 + WEIGHTS.often * Math.log(many)) };
        });
        groups = numbers.size;
        for (const [said, meant] of window.workbookSame) {
            const words = stemsOf(said);
            const others = meant.split(" ").map(stem);
            if (words.length > 1) phrases.push([words, others]);
            else same.set(words[0], [...(same.get(words[0]) || []), ...others]);
        }
        sayings = places.flatMap(({ place: [kind, name, , , , said] }, at) =>
            kind === "text" ? [] : [name, ...(said || "").split("; ")].map((one) => {
                const roots = new Set(typedWords(plain(one)).filter(tells).map(stem));
                return { at, roots, sum: summed([...roots].map(weightOf)) };
            }));
    }

    const rare = (root) => {
        const few = rows.get(root).length;
        return Math.log(1 + (places.length - few + 0.5) / (few + 0.5));
    };
    const weightOf = (root) => (rows.has(root) ? rare(root) : 3);
    const summed = (numbers) => numbers.reduce((one, other) => one + other, 0);
    const tells = (word) => !COMMON.has(word);

    // By how many letters two words differ: one more, one less, another one, or two in the wrong
    // order. More than "most" are not counted.
    function distance(one, other, most) {
        if (Math.abs(one.length - other.length) > most) return most + 1;
        let before = [];
        let last = Array.from({ length: other.length + 1 }, (_, at) => at);
        for (let i = 1; i <= one.length; i++) {
            const next = [i];
            let least = i;
            for (let j = 1; j <= other.length; j++) {
                const isSame = one[i - 1] === other[j - 1];
                next[j] = Math.min(last[j] + 1, next[j - 1] + 1, last[j - 1] + !isSame);
                if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
                    next[j] = Math.min(next[j], before[j - 2] + 1);
                least = Math.min(least, next[j]);
            }
            if (least > most) return most + 1;
            [before, last] = [last, next];
        }
        return last.at(-1);
    }

    // The stems of the words that are spelled most like one. One letter may differ, two in a word
    // of seven, and three in one of twelve, as in "defragmentaton", which may begin otherwise.
    function alike(word) {
        let most = word.length < 4 ? 0 : word.length < 7 ? 1 : word.length < 12 ? 2 : 3;
        const found = new Map();
        if (most)
            for (const [other, root] of vocabulary) {
                if (/\d/.test(other) || (word.length < 12 && other[0] !== word[0])) continue;
                const far = distance(word, other, most);
                if (far > most) continue;
                found.set(root, far);
                most = far;
            }
        return [...found].filter(([, far]) => far === most).map(([root]) => root);
    }

    // [stem, how much it counts] for a word that was typed. Its beginning is enough where it is the
    // last one, which may not be complete yet.
    function meant(word, isLast) {
        const root = stem(word);
        const found = rows.has(root) ? [[root, 1]] : [];
        for (const other of same.get(root) || []) found.push([other, WEIGHTS.synonym]);
        for (const part of parts.get(word) || []) found.push([part, WEIGHTS.part]);
        if (word.length > 2 && (isLast || !found.length))
            for (const [other, its] of vocabulary)
                if (other.startsWith(word) && its !== root) found.push([its, WEIGHTS.beginning]);
        if (!found.length) for (const other of alike(word)) found.push([other, WEIGHTS.alike]);
        return found.filter(([other]) => rows.has(other));
    }

    // A name as it was typed, if the book has it or one that is spelled alike, else its words; and
    // neighbors that are a call: "cuda malloc async".
    function typedWords(text) {
        const words = text.split(/\W+/).flatMap((name) => {
            const whole = name.replace(/_/g, "").toLowerCase();
            if (vocabulary.has(whole) || same.has(stem(whole))) return [whole];
            const near = /^cu.*[A-Z]/.test(name) && [...parts.keys()]
                .find((call) => distance(whole, call, 2) <= 2);
            return near ? [near] : wordsOf(name);
        });
        const joined = [];
        while (words.length) {
            let many = 6;
            while (many > 1 && !parts.has(words.slice(0, many).join(""))) many--;
            joined.push(words.splice(0, many).join(""));
        }
        return joined.filter(Boolean);
    }

    // Whether the words of a phrase stand one after the other, with at most two between neighbors.
    const hasPhrase = (words, phrase) => words.some((word, from) => {
        let at = from;
        return word === phrase[0] && phrase.slice(1).every((next) => {
            const found = words.slice(at + 1, at + 4).indexOf(next);
            at += found + 1;
            return found >= 0;
        });
    });

    // What was typed: {found: [stem, share], weight, isAsked} of each word and each phrase.
    function understood(words, stems) {
        const asked = words.map((word, at) => {
            const found = meant(word, at === words.length - 1);
            const root = stem(word);
            let weight = rows.has(root) ? rare(root) : Math.min(...found.map(([one]) => rare(one)));
            if (!found.some(([one]) => told.has(one))) weight *= WEIGHTS.loose;
            if (found.some(([one, share]) => share > 0.5 && names.has(one) && rare(one) > 3))
                weight *= WEIGHTS.product;
            if (parts.has(word)) weight *= WEIGHTS.call;
            if (/^\d+$/.test(word) && words.length > 2 && !COUNTED.test(words[at - 1]))
                weight *= WEIGHTS.digits;
            return { found, weight, isAsked: true };
        });
        for (const [phrase, others] of phrases) {
            const found = others.filter((one) => rows.has(one)).map((one) => [one, 1]);
            if (!found.length || !hasPhrase(stems, phrase)) continue;
            const weight = WEIGHTS.phrase * Math.min(...found.map(([one]) => rare(one)));
            asked.push({ found, weight, isAsked: false });
        }
        return asked.filter(({ found }) => found.length);
    }

    // The places for what was typed, the best first.
    function find(text) {
        if (!places) return [];
        const query = text.trim().toLowerCase();
        const said = plain(text).replace(DURATION, " slow ").replace(UNIT, " ");
        const stems = stemsOf(said);
        const typed = typedWords(said);
        const telling = typed.filter(tells);
        const words = [...new Set(telling.length ? telling : typed)];
        const asked = understood(words, stems);

        // What the words count in each place, and in all places of its address together
        const own = places.map(() => [0, 0]);
        const ours = Array.from({ length: groups }, () => [0, 0]);
        let all = 0;
        for (const { found, weight, isAsked } of asked) {
            if (isAsked) all += weight;
            const best = new Map();
            const together = new Map();
            for (const [root, share] of found)
                for (const [at, worth] of rows.get(root))
                    if (worth * share > (best.get(at) || 0)) best.set(at, worth * share);
            for (const [at, worth] of best) {
                own[at][0] += weight * worth;
                own[at][1] += weight;
                const { group } = places[at];
                if (worth > (together.get(group) || 0)) together.set(group, worth);
            }
            for (const [group, worth] of together) {
                ours[group][0] += weight * worth;
                ours[group][1] += weight;
            }
        }
        // How much of what was typed is in a name or in what others say, and the other way round
        const near = places.map(() => 0);
        for (const { at, roots, sum } of sayings) {
            let shared = 0;
            for (const { found, weight } of asked) {
                let most = 0;
                for (const [root, share] of found)
                    if (share > most && roots.has(root)) most = share;
                shared += most * weight;
            }
            near[at] = Math.max(near[at], shared * shared / (0.3 * all + 0.7 * sum + 0.1));
        }
        const covered = ([sum, part]) => sum * Math.min(1, part / all) ** WEIGHTS.cover;
        const value = (at) => places[at].worth * (covered(own[at]) * (1 - WEIGHTS.together) +
            covered(ours[places[at].group]) * WEIGHTS.together + WEIGHTS.near * near[at]);

        // Names, neighbors that are neighbors there as well, and the whole as it was typed
        const sure = ([, share]) => share === 1 || share === WEIGHTS.alike;
        const exact = new Set(asked.length === 1 ? asked[0].found.filter(sure).map(([one]) => one)
            : []);
        const roots = words.map(stem);
        const bonus = ({ place: [kind, name, sentence, , more], worth }) => {
            const written = `${name} ${sentence} ${more}`;
            const there = ` ${stemsOf(written).join(" ")} `;
            const isWritten = query.length > 3 && written.toLowerCase().includes(query);
            let sum = isWritten ? WEIGHTS.whole : 0;
            for (let at = 2; at < stems.length; at++)
                if (there.includes(` ${stems.slice(at - 2, at + 1).join(" ")} `))
                    sum += WEIGHTS.three;
            for (let at = 1; at < roots.length; at++)
                if (there.includes(` ${roots[at - 1]} ${roots[at]} `))
                    sum += WEIGHTS.pair * summed(roots.slice(at - 1, at + 1).map(weightOf));
            sum *= worth;
            const code = CODE.has(kind) || kind === "word" ? name.toLowerCase() : "";
            if (name.toLowerCase() === query || exact.has(stem(code)) ||
                (kind !== "word" && query.length > 8 && code.endsWith(query))) sum += WEIGHTS.name;
            else if (words.length < 4 && kind !== "word" && words.includes(code) &&
                rare(stem(code)) > 4) sum += WEIGHTS.inside;
            return sum;
        };

        // Each place once, and of a section one text.
        const seen = new Set();
        const isFirst = ([, name, , address]) => {
            const keys = [address, `${address.split("#")[0]} ${name.split(" \u2013 ")[0]}`];
            return !keys.some((key) => seen.has(key)) && keys.every((key) => seen.add(key));
        };
        const falling = (one, other) => other[1] - one[1];
        const found = own.map(([sum], at) => [at, sum ? value(at) : 0]).filter(([, sum]) => sum)
            .sort(falling).slice(0, NEAREST)
            .map(([at, sum]) => [places[at].place, sum + bonus(places[at])]).sort(falling)
            .map(([place]) => place).filter(isFirst).slice(0, MOST);
        return found.length ? found : [NOTHING];
    }

    return { prepare, find };
})();
