-- LLM exchanges: HTTP requests of the agent and their answers. The proof over
-- them stands in session.chains, behind those of the streams.
CREATE TABLE exchange (
  id       INTEGER PRIMARY KEY, -- session << 40 | number in the session, from 1
  after    INTEGER NOT NULL,    -- seq of the last frame before it began
  time     INTEGER NOT NULL,    -- when it began
  route    TEXT NOT NULL,
  proto    TEXT NOT NULL,
  method   TEXT NOT NULL,
  url      TEXT NOT NULL,
  status   INTEGER NOT NULL,    -- 0 without an answer
  answered INTEGER NOT NULL,    -- when the head of the answer came
  ended    INTEGER NOT NULL,
  state    TEXT NOT NULL,       -- how it ended, '' while it is open
  error    TEXT NOT NULL,
  attempt  INTEGER NOT NULL,
  omitted  INTEGER NOT NULL,    -- bytes of the bodies that are not kept
  fields   BLOB NOT NULL,       -- headers and trailer, packed
  pieces   BLOB NOT NULL,       -- size and time of each read of the answer, packed
  base     INTEGER NOT NULL,    -- number of the exchange from whose request body this one's is a delta, or 0
  body     INTEGER NOT NULL,    -- bytes of the request body
  answer   INTEGER NOT NULL,    -- bytes of the answer's body
  request  BLOB NOT NULL,       -- hash of method, URL and request body
  hash     BLOB NOT NULL        -- of all of it, as stored
) STRICT;

-- The bodies of exchanges, in parts.
CREATE TABLE body (
  session  INTEGER NOT NULL,
  exchange INTEGER NOT NULL,
  side     INTEGER NOT NULL,    -- 0 request, 1 answer
  n        INTEGER NOT NULL,    -- from 0
  size     INTEGER NOT NULL,    -- bytes, unpacked
  data     BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX body_n ON body (session, exchange, side, n);
