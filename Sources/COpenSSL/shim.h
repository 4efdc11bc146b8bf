// OpenSSL 3, with a function for each macro that Swift cannot import.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static const uint64_t COpenSSL_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const unsigned long COpenSSL_XN_FLAG_ONELINE = XN_FLAG_ONELINE;

static inline EVP_PKEY *COpenSSL_EVP_PKEY_generate_ed25519(void) {
  return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
}
static inline EVP_PKEY *COpenSSL_EVP_PKEY_generate_rsa(size_t bits) {
  return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits);
}
static inline EVP_PKEY *COpenSSL_EVP_PKEY_generate_ec(const char *curve) {
  return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve);
}
static inline long COpenSSL_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version);
}
static inline long COpenSSL_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_mode(context, mode);
}
static inline long COpenSSL_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_session_cache_mode(context, mode);
}
static inline long COpenSSL_SSL_CTX_set_read_ahead(SSL_CTX *context, long on) {
  return SSL_CTX_set_read_ahead(context, on);
}
static inline long COpenSSL_SSL_CTX_set1_sigalgs_list(SSL_CTX *context, const char *list) {
  return SSL_CTX_set1_sigalgs_list(context, list);
}
static inline int COpenSSL_sk_X509_num(const STACK_OF(X509) *certificates) {
  return sk_X509_num(certificates);
}
static inline void COpenSSL_BIO_clear_retry_flags(BIO *bio) {
  BIO_clear_retry_flags(bio);
}
static inline void COpenSSL_BIO_set_retry_read(BIO *bio) {
  BIO_set_retry_read(bio);
}
static inline void COpenSSL_BIO_set_retry_write(BIO *bio) {
  BIO_set_retry_write(bio);
}
static inline X509 *COpenSSL_sk_X509_value(const STACK_OF(X509) *certificates, int index) {
  return sk_X509_value(certificates, index);
}
static inline STACK_OF(X509) *COpenSSL_sk_X509_new(void) {
  return sk_X509_new_null();
}
// The list holds the certificate too.
static inline int COpenSSL_sk_X509_push(STACK_OF(X509) *certificates, X509 *certificate) {
  return X509_add_cert(certificates, certificate, X509_ADD_FLAG_UP_REF);
}
static inline void COpenSSL_sk_X509_free(STACK_OF(X509) *certificates) {
  sk_X509_pop_free(certificates, X509_free);
}

// The parts of PKCS#12 (RFC 7292): authenticated safes, which are PKCS#7, and the bags in them.

static inline int COpenSSL_sk_PKCS7_num(const STACK_OF(PKCS7) *safes) {
  return sk_PKCS7_num(safes);
}
static inline PKCS7 *COpenSSL_sk_PKCS7_value(const STACK_OF(PKCS7) *safes, int index) {
  return sk_PKCS7_value(safes, index);
}
static inline void COpenSSL_sk_PKCS7_free(STACK_OF(PKCS7) *safes) {
  sk_PKCS7_pop_free(safes, PKCS7_free);
}
static inline int COpenSSL_sk_PKCS12_SAFEBAG_num(const STACK_OF(PKCS12_SAFEBAG) *bags) {
  return sk_PKCS12_SAFEBAG_num(bags);
}
static inline PKCS12_SAFEBAG *COpenSSL_sk_PKCS12_SAFEBAG_value(const STACK_OF(PKCS12_SAFEBAG) *bags, int index) {
  return sk_PKCS12_SAFEBAG_value(bags, index);
}
static inline void COpenSSL_sk_PKCS12_SAFEBAG_free(STACK_OF(PKCS12_SAFEBAG) *bags) {
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}
static inline int COpenSSL_PKCS7_is_data(PKCS7 *safe) {
  return PKCS7_type_is_data(safe);
}
// NULL where the safe is not encrypted with a password.
static inline const X509_ALGOR *COpenSSL_PKCS7_encryption(PKCS7 *safe) {
  if (!PKCS7_type_is_encrypted(safe) || safe->d.encrypted == NULL || safe->d.encrypted->enc_data == NULL) return NULL;
  return safe->d.encrypted->enc_data->algorithm;
}
// How often an encryption with a password hashes; -1 where it does not say so in a form that is known.
static inline int64_t COpenSSL_X509_ALGOR_iterations(const X509_ALGOR *algorithm) {
  const ASN1_OBJECT *kind;
  const void *value;
  int type;
  int64_t count = -1;
  X509_ALGOR_get0(&kind, &type, &value, algorithm);
  if (type != V_ASN1_SEQUENCE) return -1;
  if (OBJ_obj2nid(kind) == NID_pbes2) {
    PBE2PARAM *outer = (PBE2PARAM *)ASN1_item_unpack((const ASN1_STRING *)value, ASN1_ITEM_rptr(PBE2PARAM));
    if (outer == NULL) return -1;
    X509_ALGOR_get0(&kind, &type, &value, outer->keyfunc);
    if (OBJ_obj2nid(kind) == NID_id_pbkdf2 && type == V_ASN1_SEQUENCE) {
      PBKDF2PARAM *inner = (PBKDF2PARAM *)ASN1_item_unpack((const ASN1_STRING *)value, ASN1_ITEM_rptr(PBKDF2PARAM));
      if (inner != NULL && !ASN1_INTEGER_get_int64(&count, inner->iter)) count = -1;
      PBKDF2PARAM_free(inner);
    }
    PBE2PARAM_free(outer);
  } else {
    PBEPARAM *simple = (PBEPARAM *)ASN1_item_unpack((const ASN1_STRING *)value, ASN1_ITEM_rptr(PBEPARAM));
    if (simple == NULL) return -1;
    if (!ASN1_INTEGER_get_int64(&count, simple->iter)) count = -1;
    PBEPARAM_free(simple);
  }
  return count;
}
static inline long COpenSSL_BIO_get_mem_data(BIO *memory, char **bytes) {
  return BIO_get_mem_data(memory, bytes);
}
static inline long COpenSSL_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
  return SSL_set_tlsext_host_name(ssl, name);
}
