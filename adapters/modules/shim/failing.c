/* The reference shim with one fault, chosen when it is compiled. */

#define sealstone_module_table reference_table
#include "reference.c"
#undef sealstone_module_table

/* Calls that succeed before all fail: a module that goes into an error state. */
#ifndef CALLS
#define CALLS 0
#endif

static int calls = 0;

static int dies(void) {
    return __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) >= CALLS;
}

static int failing_test(void) {
    return SEALSTONE_MODULE_FAILED;
}

static int failing_seal(sealstone_keyed *keyed, const uint8_t nonce[12], const uint8_t *associated,
                        size_t associated_bytes, uint8_t *data, size_t data_bytes,
                        uint8_t tag[16]) {
    return dies() ? SEALSTONE_MODULE_FAILED
                  : aead_seal(keyed, nonce, associated, associated_bytes, data, data_bytes, tag);
}

static int failing_open(sealstone_keyed *keyed, const uint8_t nonce[12], const uint8_t *associated,
                        size_t associated_bytes, uint8_t *data, size_t data_bytes,
                        const uint8_t tag[16]) {
    return dies() ? SEALSTONE_MODULE_FAILED
                  : aead_open(keyed, nonce, associated, associated_bytes, data, data_bytes, tag);
}

static int failing_random(uint8_t *out, size_t out_bytes) {
    return dies() ? SEALSTONE_MODULE_FAILED : random_bytes(out, out_bytes);
}

static int failing_hmac(sealstone_hmac *hmac, uint8_t tag[32]) {
    return dies() ? SEALSTONE_MODULE_FAILED : hmac_finish(hmac, tag);
}

static int failing_hkdf(const uint8_t *secret, size_t secret_bytes, const uint8_t *info,
                        size_t info_bytes, uint8_t *out, size_t out_bytes) {
    return dies() ? SEALSTONE_MODULE_FAILED
                  : hkdf_sha256(secret, secret_bytes, info, info_bytes, out, out_bytes);
}

static int failing_cmac(const char *cipher, const uint8_t *key, size_t key_bytes,
                        const uint8_t *message, size_t message_bytes, uint8_t tag[16]) {
    return dies() ? SEALSTONE_MODULE_FAILED
                  : cmac(cipher, key, key_bytes, message, message_bytes, tag);
}

static int failing_cbc(sealstone_blocks *blocks, const uint8_t iv[16], uint8_t *data,
                       size_t data_bytes) {
    return dies() ? SEALSTONE_MODULE_FAILED : cbc_encrypt(blocks, iv, data, data_bytes);
}

const sealstone_module *sealstone_module_table(void) {
    static sealstone_module table;
    table = *reference_table();
    table.name = NAME;
#ifdef FAILS_TEST
    table.self_test = failing_test;
#endif
#ifdef NO_TEST
    table.self_test = NULL;
#endif
#ifdef FAILS_SEAL
    table.aead_seal = failing_seal;
#endif
#ifdef FAILS_OPEN
    table.aead_open = failing_open;
#endif
#ifdef FAILS_RANDOM
    table.random = failing_random;
#endif
#ifdef FAILS_HMAC
    table.hmac_sha256_finish = failing_hmac;
#endif
#ifdef FAILS_HKDF
    table.hkdf_sha256 = failing_hkdf;
#endif
#ifdef FAILS_CMAC
    table.cmac = failing_cmac;
#endif
#ifdef NO_CMAC
    table.cmac = NULL;
#endif
#ifdef FAILS_CBC
    table.cbc_encrypt = failing_cbc;
#endif
#ifdef NO_CTR
    table.ctr = NULL;
#endif
#ifdef HALF_BLOCKS
    table.cbc_decrypt = NULL;
#endif
#ifdef BEFORE_BLOCKS
    table.bytes = offsetof(sealstone_module, blocks_new);
    table.blocks_new = (void *)1;
#endif
#ifdef NO_RANDOM
    table.random = NULL;
#endif
#ifdef NO_AEAD
    table.aead_new = NULL;
    table.aead_seal = NULL;
    table.aead_open = NULL;
    table.aead_free = NULL;
#endif
#ifdef HALF_AEAD
    table.aead_free = NULL;
#endif
#ifdef OTHER_LENGTH
    table.bytes -= 8;
#endif
#ifdef OTHER_INTERFACE
    table.interface = 7;
#endif
    return &table;
}
