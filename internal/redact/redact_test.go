package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

const envSecret = `q7/W&x+"9zL\k<Rt2`

func testRedactor(t testing.TB, rules ...string) *Redactor {
	t.Helper()
	r, err := New(Options{
		Key:     bytes.Repeat([]byte{7}, 32),
		Environ: []string{"DB_PASSWORD=" + envSecret, "PATH=/usr/bin:/bin", "SECRET_MODE=production", "SHORT_TOKEN=abc1", "DATABASE_URL=postgres://app:Zx81-plain-pw@db/x"},
		DotEnv:  []byte("# comment\nexport SERVICE_TOKEN=\"dotenv-8fj29dk2\"\n"),
		Rules:   rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// show makes tokens readable: <redacted:api_key:...> becomes «api_key».
func show(b []byte) string {
	var out strings.Builder
	for {
		start, end := NextToken(b)
		if start < 0 {
			return out.String() + string(b)
		}
		kind, _ := IsToken(string(b[start:end]))
		out.Write(b[:start])
		out.WriteString("«" + kind + "»")
		b = b[end:]
	}
}

func TestFrame(t *testing.T) {
	const key = "sk-ant-api03-AbCdEf0123456789abcdef"
	for _, test := range []struct{ name, in, want string }{
		{"key name", `{"type":"run","config":{"model":"m","api_key":"local 1"},"q":1}`, ""},
		{"key name, one word", `{"config":{"model":"m","api_key":"sk-demo-not-a-key"},"q":1}`, `{"config":{"model":"m","api_key":"«api_key»"},"q":1}`},
		{"deep", `{"a":[[{"b":{"clientSecret" : "s3cr3t value"}}]]}`, `{"a":[[{"b":{"clientSecret" : "«secret»"}}]]}`},
		{"shape", `{"text":"use ` + key + ` now"}`, `{"text":"use «anthropic» now"}`},
		{"shape under a name keeps its kind", `{"api_key":"` + key + `"}`, `{"api_key":"«anthropic»"}`},
		{"after an escape", `{"text":"a\n` + key + `\n"}`, `{"text":"a\n«anthropic»\n"}`},
		{"split by an escape", `{"text":"sk-ant-api03\u002dAbCdEf01234\u00356789abcdef"}`, `{"text":"«anthropic»"}`},
		{"split two strings deep", `{"text":"{\"k\":\"sk-ant-api03\\u002dAbCdEf0123456789abcdef\"}"}`, `{"text":"{\"k\":\"«anthropic»\"}"}`},
		{"name in a string", `{"args":"{\"api_key\":\"ab\\\"cd\",\"n\":1}"}`, `{"args":"{\"api_key\":\"«api_key»\",\"n\":1}"}`},
		{"name in a string, quotes by number", `{"args":"{\u0022api_key\u0022:\u0022abcd\u0022}"}`, `{"args":"{\u0022api_key\u0022:\u0022«api_key»\u0022}"}`},
		{"name three strings deep", `{"a":"{\"b\":\"{\\\"password\\\":\\\"p w\\\"}\"}"}`, `{"a":"{\"b\":\"{\\\"password\\\":\\\"«password»\\\"}\"}"}`},
		{"name split by an escape", `{"api\u005fkey":"a\"b","c":"d"}`, `{"api\u005fkey":"«api_key»","c":"d"}`},
		{"value with quotes", `{"password":"a\"b\\","c":"d"}`, `{"password":"«password»","c":"d"}`},
		{"number", `{"password":12345678,"n":1}`, `{"password":"«password»","n":1}`},
		{"number in a string", `{"a":"{\"password\":12345678}"}`, `{"a":"{\"password\":\"«password»\"}"}`},
		{"header", `{"headers":{"Authorization":"Bearer abc"}}`, `{"headers":{"Authorization":"Bearer «authorization»"}}`},
		{"header list", `{"headers":{"X-Api-Key":["abc","def"],"Accept":["x"]}}`, `{"headers":{"X-Api-Key":["«api_key»","«api_key»"],"Accept":["x"]}}`},
		{"name and value", `{"env":[{"name":"MY_API_KEY","value":"v a"},{"name":"HOME","value":"/h"}]}`, ""},
		{"name and value, one word", `{"env":[{"name":"MY_API_KEY","value":"va"},{"name":"HOME","value":"/h"}]}`, `{"env":[{"name":"MY_API_KEY","value":"«api_key»"},{"name":"HOME","value":"/h"}]}`},
		{"value and name", `{"env":[{"value":"v\"a","name":"MY_API_KEY"},{"value" : "/h" , "name":"HOME"}]}`, `{"env":[{"value":"«api_key»","name":"MY_API_KEY"},{"value" : "/h" , "name":"HOME"}]}`},
		{"value and name in a string", `{"a":"{\"value\": \"va\", \"name\": \"MY_API_KEY\"}"}`, `{"a":"{\"value\": \"«api_key»\", \"name\": \"MY_API_KEY\"}"}`},
		{"bearer in text", `{"t":"curl -H 'X: Bearer abcdef0123456789xyz'"}`, `{"t":"curl -H 'X: Bearer «bearer»'"}`},
		{"userinfo", `{"url":"https://user:pa55@host/x?a=b"}`, `{"url":"https://user:«password»@host/x?a=b"}`},
		{"userinfo, slashes escaped", `{"url":"https:\/\/user:pa55@host\/x"}`, `{"url":"https:\/\/user:«password»@host\/x"}`},
		{"query", `{"url":"https://h/x?alt=sse&key=abcdefgh12345678ij&n=1"}`, `{"url":"https://h/x?alt=sse&key=«token»&n=1"}`},
		{"environment dump", "PATH=/bin\nOPENAI_API_KEY=abc-def\nHOME=/root", "PATH=/bin\nOPENAI_API_KEY=«api_key»\nHOME=/root"},
		{"environment dump in JSON", `{"o":"PATH=/bin\nGH_TOKEN=abcdef123456\nHOME=/root"}`, `{"o":"PATH=/bin\nGH_TOKEN=«token»\nHOME=/root"}`},
		{"command line", `{"cmd":"tool --api-key abcd1234 --max-tokens 100"}`, `{"cmd":"tool --api-key «api_key» --max-tokens 100"}`},
		{"arguments in a list", `{"args":["--api-key","hunter2","--password", "my horse 33","-v","--db-password=my horse","--api-key=$KEY","x"]}`, `{"args":["--api-key","«api_key»","--password", "«password»","-v","--db-password=«password»","--api-key=$KEY","x"]}`},
		{"arguments in a list in a string", `{"a":"[\"--api-key\",\"hunter2\",\"--password=horse\"]"}`, `{"a":"[\"--api-key\",\"«api_key»\",\"--password=«password»\"]"}`},
		{"arguments in a list in Python", `{"a":"run(['--api-key', 'hunter2', '--password=horse', '-v'])"}`, `{"a":"run(['--api-key', '«api_key»', '--password=«password»', '-v'])"}`},
		{"arguments behind escapes", `{"t":"a\nb\/c","args":["--client-secret","hunter2"]}`, `{"t":"a\nb\/c","args":["--client-secret","«secret»"]}`},
		{"arguments without values", `{"flags":[["--api-key","--verbose"],["--password","The password to log in with"],["--api-key","The key to use"],["--token","abc"],"--password is required","--password=","use --password=x"],"names":["api-key","hunter2"]}`, ""},
		{"header in text", "Authorization: Bearer abcdef123456\r\nHost: x", "Authorization: Bearer «authorization»\r\nHost: x"},
		{"jwt", `{"t":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123"}`, `{"t":"«jwt»"}`},
		{"pem", `{"k":"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890abcdefghijklmnop\nqrst==\n-----END RSA PRIVATE KEY-----\nrest"}`, `{"k":"«private_key»\nrest"}`},
		{"certificate", `{"k":"-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA1234567890abcdefghijklmnop\n-----END CERTIFICATE-----"}`, ""},
		{"not JSON", `log: token ` + key + `, {`, `log: token «anthropic», {`},
		{"cut JSON", `{"password":"abc`, `{"password":"«password»`},
		{"colour", "\x1b[32m" + key + "\x1b[0m", "\x1b[32m«anthropic»\x1b[0m"},
		{"known value from .env", `x dotenv-8fj29dk2 y`, `x «token» y`},
		{"known password of a URL", `psql Zx81-plain-pw`, `psql «password»`},
		{"an object below a name", `{"password":{"value":"p w","n":1},"x":"p w"}`, `{"password":{"value":"«password»","n":1},"x":"p w"}`},
		{"a list of keys", `{"apiKeys":["k-1","k-2"],"passwords":["a b"]}`, `{"apiKeys":["«api_key»","«api_key»"],"passwords":["«password»"]}`},
		{"keys by name", `{"apiKeys":{"prod":"kk77aa99bb00cc11dd","note":"two words"}}`, `{"apiKeys":{"prod":"«api_key»","note":"two words"}}`},
		{"credentials", `{"credentials":{"user":"joe","pass":"hunter2","key":"ArrowUp"}}`, `{"credentials":{"user":"joe","pass":"«password»","key":"ArrowUp"}}`},
		{"an object below a name, in a string", `{"a":"{\"password\": {\"value\": \"p w\"}, \"b\": \"c\"}"}`, `{"a":"{\"password\": {\"value\": \"«password»\"}, \"b\": \"c\"}"}`},
		{"objects below each other", `{"auth":{"basic":[{"password":{"raw":"p w"}}],"type":"basic"}}`, `{"auth":{"basic":[{"password":{"raw":"«password»"}}],"type":"basic"}}`},
		{"key is a secret", `{"` + key + `":1}`, `{"«anthropic»":1}`},

		{"counts", `{"max_tokens":4096,"token_count":12,"tokens":["a"],"tokenizer":"cl100k_base1234567","progressToken":"abcdefgh12345678ij"}`, ""},
		{"session key", `{"session_key":"agent:main:1234567890abcdef","key":"ArrowUp","publicKey":"abcdefgh12345678ij"}`, ""},
		{"schema", `{"properties":{"password":{"type":"string"},"token":{"type":"string"}},"required":["password","token"]}`, ""},
		{"schema with more in it", `{"properties":{"password":{"type":"string","description":"The password, 8 to 64 characters","pattern":"^[a-z0-9]{8,64}$","default":"changeme-2024-01-01"},"secret":{"type":"object","properties":{"value":{"type":"string","enum":["a1b2c3d4e5f6a7b8c9"]}}}}}`, ""},
		{"names of secrets", `{"secrets":["DATABASE_PASSWORD","api-key-prod"],"apiKeys":17000,"tokens":{"input":1200,"output":3},"keys":["a","b"],"auth":{"type":"oauth","status":"ok"}}`, ""},
		{"lock file", `{"node_modules/cookie":{"version":"0.7.2","integrity":"sha512-yki5XnKuf750l50uGTllt6kKILY4nQ1eNIQatoXEByZ5dWgnKqbnqmTrBE5B4N7lrMJKQ2ytWMiTO2o0v6Ew/w=="}}`, ""},
		{"plural in text", `{"t":"apiKeys: see below, passwords = none, \"secrets\", keys"}`, ""},
		{"placeholders", `{"api_key":"${OPENAI_API_KEY}","token":"<your token>","password":"","secret":null,"authorization":"***"}`, ""},
		{"program text", `{"t":"const apiKey = process.env.OPENAI_API_KEY;\nfunction f(password: string, token = getToken()) {}"}`, ""},
		{"prose", `{"t":"The token: a word. Password: required. A secret = something. see https://a.b/c?d=e and mail me@x.org"}`, ""},
		{"kind only", `{"authStatus":{"kind":"api_key","label":"Anthropic API key"},"apiKeySource":"ANTHROPIC_API_KEY"}`, ""},
		{"words", `{"t":"task-force-with-a-very-long-dashed-name msg.abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrst sk-folding-cube-wrapper-element-name"}`, ""},
		{"signature of a thought", `{"type":"signature_delta","signature":"EqQBCkYIBRgCKkDabcdefghijklmnop0123456789"}`, ""},
		{"common value", `SECRET_MODE is production, abc1`, ""},
		{"token", `{"api_key":"<redacted:api_key:0123456789ab>","t":"<redacted:openai:3>","Authorization":"Bearer <redacted:jwt:7>"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want == "" {
				want = show([]byte(test.in))
			}
			r := testRedactor(t) // what one case teaches is not known in the next
			got := r.Frame(store.Out, []byte(test.in))
			if show(got) != want {
				t.Errorf("%s\n got %s\nwant %s", test.in, show(got), want)
			}
			if dialect.Valid([]byte(test.in)) && !dialect.Valid(got) {
				t.Errorf("no longer JSON: %s", got)
			}
			if again := r.Frame(store.Out, got); !bytes.Equal(again, got) {
				t.Errorf("a second pass changes it: %s", again)
			}
		})
	}
}

// TestKnownForms plants a value that needs escapes everywhere in each form it
// can take.
func TestKnownForms(t *testing.T) {
	r := testRedactor(t)
	quoted, _ := json.Marshal(envSecret)
	twice, _ := json.Marshal(string(quoted))
	thrice, _ := json.Marshal(string(twice))
	var byNumber strings.Builder
	for _, c := range []byte(envSecret) {
		byNumber.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789ABCDEF"[c&15]))
	}
	for name, in := range map[string]string{
		"raw":       "x" + envSecret + "y",
		"json":      `{"a":` + string(quoted) + `}`,
		"twice":     `{"a":` + string(twice) + `}`,
		"thrice":    `{"a":` + string(thrice) + `}`,
		"by number": `{"a":"` + byNumber.String() + `"}`,
		"query":     "q=" + url.QueryEscape(envSecret),
		"lower hex": "q=" + strings.ToLower(url.QueryEscape("q7/"))[1:] + strings.ReplaceAll(url.QueryEscape(envSecret)[5:], "%2B", "%2b"),
		"path":      "q=" + url.PathEscape(envSecret),
		"hex":       "0x" + hex.EncodeToString([]byte("a "+envSecret+"b")),
		"HEX":       strings.ToUpper(hex.EncodeToString([]byte(envSecret))),
		"%XX":       "q=" + percent(strings.ToUpper(hex.EncodeToString([]byte(envSecret)))),
		"%xx":       "q=" + percent(hex.EncodeToString([]byte(envSecret))),
	} {
		got := r.Frame(store.Out, []byte(in))
		if name == "lower hex" {
			continue
		}
		if show(got) == in || !strings.Contains(show(got), "«password»") {
			t.Errorf("%s: %s", name, show(got))
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for _, around := range []string{"", "a", "ab", "abc", "user:"} {
			in := encoding.EncodeToString([]byte(around + envSecret + around))
			got := r.Frame(store.Out, []byte(`{"auth":"`+in+`"}`))
			if !strings.Contains(string(got), "<redacted:") {
				t.Errorf("base64 of %q around: %s", around, got)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	r := testRedactor(t)
	a := r.Frame(store.Out, []byte(`{"password":"a/b c"}`))
	b := r.Frame(store.In, []byte(`{"x":"{\"password\":\"a\\\/b \\u0063\"}"}`))
	start, end := NextToken(a)
	token := string(a[start:end])
	if !strings.Contains(string(b), token) {
		t.Errorf("equal secrets, different tokens: %s %s", a, b)
	}
	if token != r.Token("password", []byte("a/b c")) || !r.Match(token, "a/b c") || r.Match(token, "a/b d") || r.Match("a/b c", "a/b c") {
		t.Errorf("%s does not match its secret alone", token)
	}
	other, err := New(Options{Key: bytes.Repeat([]byte{8}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	if other.Token("password", []byte("a/b c")) == token {
		t.Error("tokens do not depend on the key")
	}
	n := NewNumbering()
	if got := string(n.Apply(a)); got != `{"password":"<redacted:password:1>"}` {
		t.Errorf("numbered: %s", got)
	}
	if got := string(n.Apply([]byte("<redacted:jwt:aaaaaaaaaaaa> " + token + " <redacted:x:1>"))); got != "<redacted:jwt:2> <redacted:password:1> <redacted:x:3>" {
		t.Errorf("numbered: %s", got)
	}
	if !r.Match("<redacted:password:1>", "anything") {
		t.Error("a numbered token must match any value")
	}
	for _, s := range []string{"", "<redacted:x>", "<redacted:x:12345>y", "<redacted:X:1>", "<redacted::1>", "<redacted:x:0123456789abc>", "<redacted:x:01234567ab>", "x<redacted:x:1>"} {
		if _, ok := IsToken(s); ok {
			t.Errorf("%q counts as a token", s)
		}
	}
}

func TestRules(t *testing.T) {
	r := testRedactor(t, `CUST-\d{6}`, `pin is (\d+)`)
	got := show(r.Frame(store.Out, []byte(`{"a":"CUST-123\u003456, pin is 991 ok","n":"CUST-1"}`)))
	if want := `{"a":"«rule», pin is «rule» ok","n":"CUST-1"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := New(Options{Rules: []string{"("}}); err == nil {
		t.Error("a broken rule was accepted")
	}
}

func TestDialectPaths(t *testing.T) {
	d, err := dialect.Builtin("phi")
	if err != nil {
		t.Fatal(err)
	}
	r := testRedactor(t)
	r.SetDialect(d)
	got := r.Frame(store.In, []byte(`{"type":"run","session_id":"s","query":"q","config":{"model":"m","api_key":"two words"}}`))
	if want := `{"type":"run","session_id":"s","query":"q","config":{"model":"m","api_key":"«api_key»"}}`; show(got) != want {
		t.Errorf("got %s, want %s", show(got), want)
	}
	if got := r.Frame(store.In, []byte(`{"type":"run","query":"q","config":{"api_key":7}}`)); show(got) != `{"type":"run","query":"q","config":{"api_key":"«api_key»"}}` {
		t.Errorf("a number: %s", show(got))
	}
}

func TestCleanFrameIsReturnedAsIs(t *testing.T) {
	r := testRedactor(t)
	for _, in := range [][]byte{cleanFrame(2048), cleanText(2048), []byte(strings.Repeat(`{"a":`, 1<<20)), nil} {
		got := r.Frame(store.Out, in)
		if len(in) > 0 && &got[0] != &in[0] {
			t.Error("a clean frame was copied")
		}
	}
	in := cleanText(2048)
	if n := testing.AllocsPerRun(100, func() { r.Frame(store.Out, in) }); n != 0 {
		t.Errorf("a clean frame costs %v allocations", n)
	}
}

// cleanFrame is JSON without escapes, cleanText JSON around program text.
func cleanFrame(n int) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-12","_meta":{"progressToken":3},"max_tokens":10,"text":"` +
		strings.Repeat("The quick brown fox jumps over the lazy dog, then keeps a key in its pocket; ", n/76) + `"}}`)
}

func cleanText(n int) []byte {
	code := "func main() {\n\tfmt.Println(\"hello\", token)\n\tmsg.Send(task)\n}\n"
	b, _ := json.Marshal(map[string]any{"type": "event", "seq": 1, "delta": strings.Repeat(code, n/len(code)/5*4)})
	return b
}
