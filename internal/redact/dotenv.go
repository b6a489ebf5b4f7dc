package redact

import (
	"slices"
	"strings"
)

// dotEnv reads the KEY=VALUE lines of a .env file. A value in quotes may go on
// over lines. The programs that read such files do not agree on what a backslash
// means in one, so it counts in each way that differs.
func dotEnv(b []byte) []string {
	var pairs []string
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		k, v, ok := strings.Cut(line, "=")
		at := len(k) + 1
		if k = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(k), "export ")); !ok || strings.HasPrefix(k, "#") {
			text = rest
			continue
		}
		if quoted := strings.TrimLeft(text[at:], " \t"); quoted != "" && strings.IndexByte("\"'`", quoted[0]) >= 0 {
			if end := quoteEnd(quoted); end > 0 {
				for _, v := range readings(quoted[0], quoted[1:end]) {
					pairs = append(pairs, k+"="+v)
				}
				_, text, _ = strings.Cut(quoted[end:], "\n")
				continue
			}
		}
		if v = strings.TrimSpace(v); strings.Contains(v, " #") {
			v = strings.TrimSpace(v[:strings.Index(v, " #")])
		}
		pairs = append(pairs, k+"="+v)
		text = rest
	}
	return pairs
}

// longestQuoted bounds how far the end of a quoted value is looked for, in bytes.
const longestQuoted = 64 << 10

// quoteEnd returns where the quote that text begins with ends, -1 where it does
// not.
func quoteEnd(text string) int {
	for i := 1; i < min(len(text), longestQuoted); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i
		}
	}
	return -1
}

// readings returns what a value in quotes means to one program or another: as it
// stands, with line ends expanded (Node's dotenv), with all escapes (Python's).
func readings(quote byte, v string) []string {
	list := []string{v}
	if quote == '"' {
		list = append(list, strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(v),
			strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\$`, "$").Replace(v))
	} else {
		list = append(list, strings.NewReplacer(`\\`, `\`, `\`+string(quote), string(quote)).Replace(v))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
