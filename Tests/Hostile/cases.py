"""The input of HTTP readers: families of cases, each a name and the bytes of one request.

`HOST` stands for the server's own address. Each request is a GET, or a POST whose body the server reads.
"""

GET = "GET /healthz HTTP/1.1\r\nHost: HOST\r\n"
POST = "POST /v1/pairings HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"
CONTROLS = [byte for byte in range(0x20) if byte not in (9, 10, 13)] + [0x7F]
SEPARATORS = ' \t"(),/:;<=>?@[\\]{}'


def named(texts, start="", end=""):
    return [(repr(text)[:60], start + text + end) for text in texts]


def sized(size, extension="", data="ab", end="\r\n"):
    return f"{CHUNKED}{size}{extension}\r\n{data}{end}0\r\n\r\n"


FAMILIES = {
    "sound": [
        ("GET", GET + "\r\n"),
        ("an empty line first", "\r\n" + GET + "\r\n"),
        ("a body", POST + "Content-Length: 5\r\n\r\nhello"),
        ("an empty body", POST + "Content-Length: 0\r\n\r\n"),
        ("chunks", sized("2")),
        ("chunks with trailers", CHUNKED + "2\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n"),
        ("odd case", GET.replace("Host", "hOsT") + "\r\n"),
        ("spaces around a value", GET + "X:   y\t \r\n\r\n"),
        ("no space before a value", GET + "X:y\r\n\r\n"),
        ("no value", GET + "X:\r\n\r\n"),
        ("bytes beyond ASCII in a value", GET + "X: \xc3\xa9\xff\r\n\r\n"),
        ("an unknown method", GET.replace("GET", "BREW", 1) + "\r\n"),
        ("a whole address", GET.replace("/healthz", "http://HOST/healthz") + "\r\n"),
        ("a body that looks like a request", POST + "Content-Length: 28\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n"),
    ],
    "lines": named(
        ["GET /healthz HTTP/1.1\nHost: HOST\n\n", "GET /healthz HTTP/1.1\nHost: HOST\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: HOST\n\r\n",
         "GET /healthz HTTP/1.1\rHost: HOST\r\r", GET + "X: y\n\r\n", GET + "X: y\rZ: z\r\n\r\n", GET + "X: y\r\r\n\r\n", GET + "\n",
         GET + "X: y\r\n\n", "GET /healthz HTTP/1.1\r\r\nHost: HOST\r\n\r\n", "\n" + GET + "\r\n", "\r" + GET + "\r\n", GET + "\r\r\n\r\n",
         GET + "X: y\n\nGET /smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n", GET + "X: y\r\n\x0b\r\n\r\n"]),
    "first lines": named(
        ["GET  /healthz HTTP/1.1", "GET /healthz  HTTP/1.1", " GET /healthz HTTP/1.1", "GET /healthz HTTP/1.1 ", "GET\t/healthz\tHTTP/1.1",
         "GET\x0b/healthz HTTP/1.1", "GET /healthz\x0cHTTP/1.1", "GET /healthz HTTP/1.1\t", "GET /healthz", "GET", "/healthz HTTP/1.1",
         "GET /healthz HTTP", "GET /healthz HTTP/", "GET /healthz HTTP/1", "GET /healthz HTTP/1.", "GET /healthz HTTP/.1", "GET /healthz HTTP/01.1",
         "GET /healthz HTTP/1.01", "GET /healthz HTTP/11", "GET /healthz HTTP/1.1.1", "GET /healthz http/1.1", "GET /healthz HTTPS/1.1",
         "GET /healthz HTTP /1.1", "GET /healthz HTTP/2.0", "GET /healthz HTTP/3", "GET /healthz HTTP/0.9", "GET /healthz HTTP/1.2x",
         "GET /healthz HTTP/-1.1", "GET /healthz HTTP/1,1", "GET /healthz ,HTTP/1.1", "GET /healthz xHTTP/1.1", "GET /healthz ICE/1.0", "GET /a b HTTP/1.1", "G\x00T /healthz HTTP/1.1", "G@T /healthz HTTP/1.1",
         "GE(T /healthz HTTP/1.1", "GET\x00 /healthz HTTP/1.1", "\x00GET /healthz HTTP/1.1", "GET: /healthz HTTP/1.1", "PRI * HTTP/2.0"],
        end="\r\nHost: HOST\r\n\r\n"),
    "targets": named(
        ["healthz", "", "\\healthz", "/healthz\x00", "/healthz\x00x", "/\x01", "/\x7f", "/\xe9", "/healthz#a", "/%", "/%0", "/%zz", "/%00", "/%ff",
         "/..", "/a/../healthz", "/%2e%2e/healthz", "http://other/healthz", "http://HOST.other/healthz", "http://user@HOST/healthz",
         "https://other/healthz", "ftp://HOST/healthz", "http:/healthz", "http://", "*", "HOST", "other:80", "/a\tb", "/healthz?\x00"],
        start="GET ", end=" HTTP/1.1\r\nHost: HOST\r\n\r\n"),
    "bytes in a name": [(f"{byte:02x}", f"{GET}X{chr(byte)}Y: z\r\n\r\n") for byte in CONTROLS + [ord(one) for one in SEPARATORS if one != ":"] + [0x80, 0xFF]],
    "bytes in a value": [(f"{byte:02x}", f"{GET}X: y{chr(byte)}z\r\n\r\n") for byte in CONTROLS],
    "fields": named(
        ["X : y", "X\t: y", " X: y", "\tX: y", "X", ": y", ":", " ", "X y: z", "X: y\r\n z", "X: y\r\n\tz", "X: y\r\n \r\n z", "X:\r\n y",
         "Content-Length : 0", "Content-Length\r\n : 0", "Content-Length:\r\n 0", "Host : HOST"], start=GET, end="\r\n\r\n"),
    "hosts": named(
        ["", "Host:\r\nHost: HOST\r\n", "Host: HOST\r\nHost: HOST\r\n", "Host: HOST\r\nhost: other\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: a@b\r\n", "Host: a,b\r\n",
         "Host: HOST\x00\r\n", "Host: a?b\r\n", "Host: a#b\r\n", "Host: [::1\r\n", "Host: <a>\r\n", "Host: HOST \x0b\r\n", "Host: a\\b\r\n", "Host: \x80\r\n", "Host:\r\n", "Host: \r\n"],
        start="GET /healthz HTTP/1.1\r\n", end="\r\n"),
    "lengths": named(
        ["+5", "-5", "5 5", "5,5", "5, 5", "5;", "0x5", "5.0", "5e0", "five", "", " ", "5\x00", "5\x0b", "\x0b5", "99999999999999999999", "18446744073709551621",
         "4294967301", "-0", "+0", "5\r\nContent-Length: 5", "5\r\nContent-Length: 6", "0\r\nContent-Length: 5", "5\r\nContent-Length:", "5,6", ",5", "5,", "\u0665", "5_0", "5 \t5", "5\t", "\t5"],
        start=POST + "Content-Length: ", end="\r\n\r\nhello"),
    "encodings": named(
        ["Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked\t", "Transfer-Encoding:\tchunked", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: chunked, chunked",
         "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: identity", "Transfer-Encoding: identity, chunked", "Transfer-Encoding: xchunked",
         "Transfer-Encoding: chunkedx", "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: 'chunked'", "Transfer-Encoding: chunked;a=b", "Transfer-Encoding: chunked,",
         "Transfer-Encoding: ,chunked", "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: chunked\x0b", "Transfer-Encoding: chunked\x00", "Transfer-Encoding:\r\n chunked",
         "Transfer-Encoding: \r\n\tchunked", "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", " Transfer-Encoding: chunked", "Transfer-Encoding: chun\rked",
         "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip\r\nContent-Length: 5",
         "Transfer-Encoding:\r\nContent-Length: 5", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: ch\u212anked", "Transfer_Encoding: chunked\r\nTransfer-Encoding: x",
         "X: y\nTransfer-Encoding: chunked", "Content-Length: 5\nTransfer-Encoding: chunked"],
        start=POST, end="\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    + [("in HTTP 1.0", sized("2").replace("HTTP/1.1", "HTTP/1.0")), ("lower case", sized("2").replace("chunked", "cHuNkEd"))],
    "chunk sizes": [(repr(size), sized(size)) for size in (
        "02", "0000000000000002", "00000000000000000000002", "+2", "-2", " 2", "2 ", "2\t", "0x2", "2h", "", "g", "2,2", "2.", "\x002", "2\x00", "2\x0b", "\x0b2", "2_",
        "10000000000000002", "ffffffffffffffff", "8000000000000002", "100000002", "-1", "2 2", "\u0662", "2\r")],
    "chunk extensions": [(repr(one)[:60], sized("2", one)) for one in (
        ";a", ";a=b", ";a=\"b\"", ";a=\"b\\\"c\"", ";a;b=c;d=\"e;f\"", ";", ";;", ";a=", ";=b", ";a=\"b", ";a=b\"", "a", " ;a", "; a", ";a =b", ";a= b", ";a b", ";a=\x01", ";\x00", ";a=\"\x00\"",
        ";a\n", ";a\r", ";a=\"\n\"", "\n", "\r", ";a=" + "b" * 300, ";a=" + "b" * 20000, ";" + "a" * 5000, ";(a)", ";a=(b)", ";a/b", ";\xe9")],
    "chunk ends": [(repr((data, end)), sized("2", data=data, end=end)) for data, end in (
        ("ab", "\n"), ("ab", "\r"), ("ab", ""), ("abc", "\r\n"), ("ab", "\r\r\n"), ("ab", "\n\r\n"), ("ab", " \r\n"), ("a", "\r\n"), ("ab\r", "\r\n"), ("ab", "\r\n\r\n"), ("ab", "XX"), ("ab", "\x00\x00"), ("ab", "\rX"))]
    + [("a size that ends with a line feed", CHUNKED + "2\nab\r\n0\r\n\r\n"), ("a last one that does", CHUNKED + "2\r\nab\r\n0\n\r\n"), ("an end that does", CHUNKED + "2\r\nab\r\n0\r\n\n"),
       ("a size that ends with a return", CHUNKED + "2\rab\r\n0\r\n\r\n")],
    "trailers": [(repr(one)[:60], CHUNKED + "2\r\nab\r\n0\r\n" + one + "\r\n") for one in (
        "X: y\r\n", "X:y\r\nZ: z\r\n", "X : y\r\n", " X: y\r\n", "X\r\n", ": y\r\n", "X: y\r\n z\r\n", "X: \x00\r\n", "X: y\n", "X\x00: y\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Host: other\r\n",
        "X: y\r\n" * 200, "X: " + "y" * 20000 + "\r\n", "X: y\r\r\n")],
    "sizes": [
        ("a head of 9,000 bytes", GET + "X: " + "y" * 9000 + "\r\n\r\n"),
        ("a head of 70,000 bytes", GET + "X: " + "y" * 70000 + "\r\n\r\n"),
        ("200 fields", GET + "X: y\r\n" * 200 + "\r\n"),
        ("2,000 fields", GET + "X: y\r\n" * 2000 + "\r\n"),
        ("a target of 9,000 bytes", GET.replace("/healthz", "/healthz?" + "y" * 9000) + "\r\n"),
        ("a name of 9,000 bytes", GET + "y" * 9000 + ": y\r\n\r\n"),
        ("a method of 9,000 bytes", GET.replace("GET", "G" * 9000, 1) + "\r\n"),
        ("180 times to=", GET.replace("/healthz", "/healthz?" + "&".join(f"to={one:032x}" for one in range(180))) + "\r\n"),
    ],
    "noise": named(["\x00", "\x16\x03", "\x80", "{}\r\n\r\n", "<a>\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "SSH-2.0-x\r\n\r\n", "\r\n\r\n\r\nGARBAGE\r\n\r\n", "0\r\n\r\n", "ello\r\n\r\n", ": \r\n\r\n"]),
    "upgrades": [(name, GET.replace("/healthz", "/v1/socket") + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + more + "\r\n")
                 for name, more in (("two origins", "Origin: http://HOST\r\nOrigin: http://HOST\r\n"), ("two keys", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), ("a body", "Content-Length: 1\r\n"))]
    + [("HTTP 1.0", "GET /v1/socket HTTP/1.0\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")],
}

# Requests that one of the others refuses and the gateway takes, each with its reason.
TAKEN = {
    # RFC 9110 §9.1 lets methods be any word; what is at no route is 405.
    ("sound", "an unknown method", "node"),
}

# Whole families that must be refused, but for these.
REFUSED = {
    "lines": (), "first lines": (), "bytes in a name": (), "bytes in a value": (), "fields": (), "hosts": ("'Host: a,b\\r\\n'", "'Host: [::1\\r\\n'"), "chunk ends": (), "noise": (), "upgrades": (),
}

# At most 100 KB from a client without a token, and what may come of it is little: name, parts, whether it goes on in a live
# body where there is one.
COSTS = [
    ("an extension of 20 KB that never ends", [CHUNKED + "2;" + "a" * 20000]),
    ("the same behind a request", [GET + "\r\n" + CHUNKED + "2;" + "a" * 20000]),
    ("an extension of 90 KB that never ends", [CHUNKED + "2;" + "a" * 90000]),
    ("a size that never ends", [CHUNKED + "0" * 20000]),
    ("trailers that never end", [CHUNKED + "0\r\n" + "X: y\r\n" * 10000]),
    ("chunks of one byte", [CHUNKED + "1\r\na\r\n" * 16000]),
    ("chunks with extensions", [CHUNKED + "1;a=b\r\na\r\n" * 9000]),
    ("a head that never ends", [GET + "X: y\r\n" * 10000]),
    ("a line that never ends", ["GET /" + "a" * 90000]),
    ("empty lines", ["\r\n" * 45000]),
    ("empty lines behind a request", [GET + "\r\n" + "\r\n" * 45000]),
    ("a body that never ends", [POST + "Content-Length: 1000000\r\n\r\n" + "a" * 60000]),
    ("a body that is announced alone", [POST + "Content-Length: 1000\r\n\r\n"]),
    ("a head in pieces", ["GET /healthz HTTP/1.1\r\n"] + ["X: y\r\n"] * 90),
    ("an extension in pieces", [CHUNKED + "2;"] + ["a"] * 100),
    ("a request of 180 times to=", [FAMILIES["sizes"][-1][1]]),
    ("noise", ["\x80" * 90000]),
    ("a WebSocket that is refused, and noise", [FAMILIES["upgrades"][0][1] + "\x80" * 90000]),
]
