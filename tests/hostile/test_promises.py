"""Each promise on the page about what a document may do, and in SECURITY.md, is backed by tests."""

from __future__ import annotations

import re
from pathlib import Path

from orgrest.http.sandbox import process
from orgrest.http.transport import client, limits, reading
from orgrest.rendering import results
from orgrest.run import job

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/orgrest/explanation/what-a-document-may-do.md"

CORPUS = "test_a_hostile_document_or_server_does_no_harm"
MUTATED = "test_mutated_documents_and_responses_do_no_harm"

PROMISES: dict[str, list[str]] = {
    # the page: the start of a sentence, and its tests
    "Environment variables by name": [
        "test_what_comes_from_the_environment_is_a_secret_and_so_is_what_is_made_of_it",
        "test_netrc_gives_passwords_and_logins_as_secrets",
        "test_a_secret_never_stands_in_a_result",
    ],
    "In a script, `process.env`": [
        "test_environment_variables_are_read_as_httpyac_reads_them",
        "test_what_a_script_made_of_a_secret_does_not_follow",
    ],
    "Secrets that you": [
        "test_a_list_that_is_wrong_says_where_and_how",
        "test_a_password_manager_is_asked_as_its_manual_says",
    ],
    "Only you can choose the program that supplies a secret": [
        "test_a_document_cannot_take_a_secret_elsewhere",
        "test_a_script_cannot_take_a_secret_elsewhere",
        "test_a_redirect_elsewhere_takes_nothing_along",
        "test_a_host_means_that_host_and_no_other",
    ],
    "Files in or below the document's folder": [
        "test_nothing_outside_the_documents_folder_is_read",
        "test_a_file_of_the_repository_around_the_document_is_read",
        "test_nothing_above_the_repository_and_nothing_hidden_in_it_is_read",
        CORPUS,
    ],
    "Symbolic links that lead out of these folders": [
        "test_nothing_above_the_repository_and_nothing_hidden_in_it_is_read",
        CORPUS,
    ],
    "Nothing in `.git` or `.hg` is read": [
        "test_the_data_of_a_repository_in_the_documents_folder_is_read_only_when_allowed",
        "test_nothing_above_the_repository_and_nothing_hidden_in_it_is_read",
    ],
    "`--allow-read DIR` adds folders": [
        "test_files_elsewhere_are_read_when_allowed",
    ],
    "The document's own results": ["test_text_outside_a_result_never_changes", MUTATED],
    "Every byte outside these results": ["test_text_outside_a_result_never_changes", MUTATED],
    "Data files in or below": [
        "test_a_document_writes_data_below_its_folder",
        "test_a_document_never_writes_what_a_tool_would_run_or_obey",
    ],
    "Images, audio, video": ["test_a_document_writes_data_below_its_folder"],
    "Tools look for some files by name": [
        "test_a_document_never_writes_what_a_tool_would_run_or_obey"
    ],
    "Their names or paths must start": [
        "test_a_document_writes_data_below_its_folder",
        "test_a_document_never_writes_what_a_tool_would_run_or_obey",
        "test_a_file_that_the_document_does_not_name_bears_its_name",
    ],
    "A request whose response may not be saved": [
        "test_nothing_is_sent_if_its_response_cannot_be_saved"
    ],
    "If the name of the file depends on": [
        "test_a_name_that_a_script_sets_is_checked_before_the_response_is_saved"
    ],
    "Files with other suffixes are not written": [
        "test_a_document_never_writes_what_a_tool_would_run_or_obey",
        "test_a_server_does_not_choose_an_ending_that_is_run",
    ],
    "An existing file is overwritten only if orgrest wrote it": [
        "test_a_document_never_writes_over_a_file_that_orgrest_did_not_write",
        "test_a_file_that_orgrest_wrote_is_written_again_until_somebody_edits_it",
        "test_a_file_that_the_documents_own_result_names_is_written_again",
    ],
    "A link is not enough": [
        "test_configuration_is_not_overwritten_because_a_strangers_document_links_to_it",
    ],
    "`--allow-write DIR` lets": [
        "test_allow_write_lets_a_document_write_any_file_below_a_folder",
        "test_a_response_is_never_saved_over_the_document_itself",
        "test_a_response_is_never_saved_over_another_document_of_the_run",
    ],
    "Requests and responses are kept, with secrets masked": [
        "test_only_the_user_can_read_the_history",
        "test_no_secret_gets_into_the_history",
        "test_the_oldest_runs_make_room_for_new_ones",
        "test_of_a_very_long_run_the_beginning_is_kept_and_said_to_be",
    ],
    "A document is saved completely": [
        "test_a_kill_between_writing_and_renaming_leaves_the_old_file",
    ],
    "If you edit the document during a run": [
        "test_an_edit_meanwhile_wins_and_the_results_are_beside_it",
    ],
    "If several runs on the same document overlap": [
        "test_a_save_waits_for_the_save_of_another_run",
        "test_three_runs_at_once_on_one_document_each_keep_their_result",
    ],
    "HTTP requests and WebSocket": ["test_what_is_not_understood_is_never_sent_in_silence"],
    "A request that orgrest does not fully": [
        "test_what_is_not_understood_is_never_sent_in_silence"
    ],
    "After a redirect to another origin": [
        "test_of_the_documents_headers_only_a_short_list_reaches_another_origin",
        "test_credentials_never_reach_another_origin",
        "test_digest_credentials_are_not_sent_to_another_origin",
        "test_another_origin_gets_no_handshake",
        "test_a_certificate_is_not_shown_to_another_origin",
    ],
    "A redirect to another origin is not followed": [
        "test_a_body_with_a_secret_is_not_redirected_to_another_origin",
        "test_a_body_with_a_secret_does_not_follow_in_any_encoding",
        "test_a_url_with_a_secret_is_not_followed_to_another_origin",
        "test_what_a_script_made_of_a_secret_does_not_follow",
    ],
    "A redirect from a public server": [
        "test_a_public_server_does_not_redirect_to_a_private_address",
        "test_a_name_that_leads_to_a_private_address_is_not_followed",
        "test_a_redirect_by_way_of_a_public_server_does_not_lead_back_to_a_private_one",
    ],
    "If the document itself sends a request to a private address": [
        "test_a_document_that_asks_for_a_private_address_may_be_redirected_to_one",
    ],
    "Behind a proxy, which resolves": [
        "test_a_public_server_does_not_redirect_to_a_private_address",
    ],
    "Requests use the proxy that is set in environment variables": [
        "test_a_proxy_of_the_environment_forwards_plain_requests",
        "test_a_run_sends_through_the_proxy_that_it_is_started_with",
        "test_a_document_alone_gets_nothing_through_a_proxy_of_its_own",
        "test_no_variable_of_a_document_or_of_its_folder_chooses_one",
    ],
    "Certificates are always verified": [
        "test_a_certificate_of_an_unknown_authority_is_refused",
        "test_a_certificate_for_another_name_is_refused",
        "test_who_starts_a_run_lets_a_request_ask_for_unverified_certificates",
        "test_insecure_takes_any_certificate_and_warns",
    ],
    "Shell commands, Emacs Lisp and Python": [
        "test_other_lisp_is_not_run_and_says_so_where_it_is_needed",
        CORPUS,
    ],
    "Lisp in `:=`, `:var` and hooks is an error": [
        "test_other_lisp_is_not_run_and_says_so_where_it_is_needed",
    ],
    "`python -m orgrest` does not look": ["test_no_module_beside_a_document_is_run"],
    "jq programs run in a separate process": [
        "test_a_jq_program_reads_no_file_and_learns_of_none",
        "test_jq_gets_no_argument_that_reads_files",
        "test_a_jq_program_sees_no_environment_and_no_other_input",
        "test_the_process_that_becomes_jq_starts_without_the_users_environment",
    ],
    "If one takes too long": [
        "test_a_jq_program_that_does_not_end_is_stopped",
        "test_a_jq_program_that_takes_too_much_memory_is_stopped",
        "test_a_jq_program_that_prints_endlessly_is_stopped",
    ],
    "JavaScript in request files": [
        "test_a_script_sees_nothing_of_the_machine",
        "test_a_script_without_end_or_bounds_is_stopped",
        "test_the_worker_ends_itself_after_its_cpu_time",
        "test_the_process_can_take_no_more_than_its_memory_nor_write_nor_start_programs",
        "test_the_process_has_nothing_of_the_environment",
    ],
    "[Logins](../how-to/logins.md)": [
        "test_another_document_that_names_the_same_login_does_not_get_its_token",
        "test_a_token_goes_to_no_host_that_the_person_did_not_allow",
        "test_an_allowed_token_cannot_be_taken_elsewhere",
    ],
    "A browser is opened, or": [
        "test_at_a_terminal_a_person_is_asked_and_the_browser_opened_once",
        "test_who_says_no_is_not_signed_in",
        "test_without_a_terminal_no_browser_is_opened",
        "test_a_question_that_is_dismissed_signs_nobody_in",
    ],
    "A script cannot send anything itself": ["test_a_script_sees_nothing_of_the_machine"],
    "The run sends the requests of `pm.sendRequest`": [
        "test_what_a_script_sends_is_recorded_with_its_request",
        "test_scripts_requests_count_for_the_run_and_nothing_is_sent_in_a_dry_one",
    ],
    "Modules loaded with `require`": [
        "test_what_needs_the_machine_is_refused_with_what_to_do_instead",
        "test_modules_give_what_node_gives",
        "test_a_script_that_breaks_javascript_breaks_nothing_else",
    ],
    "A script can change the request that it belongs to": [
        "test_a_request_is_sent_as_the_script_above_it_left_it",
        "test_a_change_that_cannot_be_sent_is_reported_and_nothing_is_sent",
    ],
    "If it changes the server of a request": [
        "test_credentials_do_not_go_to_the_server_that_a_script_chooses",
    ],
    "Placeholders such as `{{name}}` in text from a server": [
        "test_no_text_of_a_server_takes_a_value_into_a_request",
    ],
    "XPaths, and JSONPaths": [
        "test_the_numbers_of_the_page_are_those_of_the_code",
        "test_the_worker_ends_itself_after_its_cpu_time",
        "test_an_xpath_without_end_is_an_error",
        "test_a_jsonpath_without_end_is_an_error",
    ],
    "Regular expressions use RE2": [
        "test_a_pattern_in_a_path_never_blows_up",
        "test_a_pattern_that_blows_up_elsewhere_takes_no_time",
        "test_what_only_javascripts_patterns_have_is_matched_within_a_limit",
    ],
    "Responses are parsed, formatted": [
        "test_hostile_bodies_are_shown_in_linear_time_and_space",
    ],
    "This is safe because the time and memory": [
        "test_hostile_bodies_are_shown_in_linear_time_and_space",
        "test_one_long_row_or_cell_does_not_make_the_others_as_long",
        "test_two_secrets_of_one_base64_text_are_masked_in_linear_time",
        "test_a_long_body_takes_less_than_five_times_its_memory",
    ],
    "In blocks, lines that Org": [
        "test_only_what_org_would_read_gets_a_comma",
        "test_org_finds_only_text_verbatim_and_code_in_a_result",
    ],
    "To Org, a result consists only of": ["test_org_finds_only_text_verbatim_and_code_in_a_result"],
    "Elsewhere (`value`, `raw`": [
        "test_org_reads_a_plain_text_as_paragraphs_without_markup",
        "test_where_a_comma_would_show_they_go_into_an_example",
    ],
    "Nothing in a response is interpreted as Org syntax": [
        "test_org_finds_only_text_verbatim_and_code_in_a_result",
        "test_org_reads_a_plain_text_as_paragraphs_without_markup",
        "test_an_inline_result_is_nothing_but_text_verbatim_or_code",
    ],
    "In a list or table, only": [
        "test_items_and_cells_with_markup_are_verbatim",
        "test_a_cell_or_item_that_is_protected_is_read_back_as_it_was",
    ],
    "With `:wrap src`, a response": [
        "test_no_response_stands_in_a_block_that_org_could_run_or_tangle",
        CORPUS,
    ],
    "`:results html` and `:results latex` produce": ["test_each_word_has_its_form"],
    "If a block is inside an Org structure": [
        "test_a_result_that_would_close_what_stands_open_above_is_reported",
        "test_a_result_that_would_close_what_its_block_is_in_is_reported",
    ],
    "A response is never evaluated": [
        "test_no_answer_is_ever_sent_as_a_request",
        "test_no_answer_in_an_inline_result_is_ever_sent",
        CORPUS,
    ],
    "Control characters, and those": ["test_control_characters_are_made_visible"],
    "Emacs's `Local Variables:`": [
        "test_an_answer_does_not_become_file_local_variables_of_emacs",
    ],
    "At most 1 MiB of a body is shown": [
        "test_the_numbers_of_the_page_are_those_of_the_code",
        "test_one_mebibyte_is_shown_unless_told_otherwise",
        "test_of_a_long_body_the_document_shows_the_beginning_and_a_link",
    ],
    "At most 16 MiB of a body are read": [
        "test_the_numbers_of_the_page_are_those_of_the_code",
        "test_a_body_over_the_limit_is_cut_and_says_so",
        "test_an_assertion_about_a_body_that_was_not_read_completely_fails",
        "test_a_body_that_was_not_read_completely_is_neither_saved_nor_sent",
    ],
    "A response whose header lines exceed": [
        "test_the_numbers_of_the_page_are_those_of_the_code",
        "test_a_server_that_never_ends_is_given_up",
    ],
    "The size of decompressed bodies is limited": [
        "test_a_decompression_bomb_stops_at_the_limit",
        "test_a_redirect_loop_is_a_failure_after_ten",
        "test_a_slow_drip_ends_with_the_whole_exchanges_time",
    ],
    "A run sends at most 100,000 requests": [
        "test_the_numbers_of_the_page_are_those_of_the_code",
        "test_files_that_run_each_other_end_with_the_budget",
        "test_no_request_is_sent_once_the_bytes_are_used_up",
        "test_by_default_a_run_may_receive_64_gib",
    ],
    "Without `--max-time`, `# @sleep`": [
        "test_the_numbers_of_the_page_are_those_of_the_code",
        "test_a_document_makes_a_run_without_a_limit_wait_for_an_hour_at_most",
        "test_a_script_cannot_make_a_run_sleep_for_hours",
        "test_nor_by_many_short_sleeps",
        "test_naps_without_end_are_ended",
    ],
    "`orgrest test` ends at most": [
        "test_a_run_ends_after_max_time_with_a_record_of_each_request",
        "test_the_second_signal_ends_a_run_at_once_with_its_reports",
        "test_the_second_ctrl_c_ends_the_teardown_too",
        "test_nothing_outlasts_a_run",
    ],
    # SECURITY.md
    "run code outside the sandbox": [
        "test_a_script_sees_nothing_of_the_machine",
        "test_a_document_never_writes_what_a_tool_would_run_or_obey",
        "test_a_run_ends_after_max_time_with_a_record_of_each_request",
    ],
    "make orgrest read or send a file": [
        "test_nothing_outside_the_documents_folder_is_read",
        MUTATED,
    ],
    "cause a secret (a value": [
        "test_a_secret_is_masked_in_every_spelling",
        "test_a_secret_is_masked_as_other_programs_write_it",
        "test_a_secret_is_masked_wherever_it_stands_in_base64",
        "test_a_url_with_a_secret_is_not_followed_to_another_origin",
        MUTATED,
    ],
    "produce output that Org": [
        "test_org_finds_only_text_verbatim_and_code_in_a_result",
        "test_control_characters_are_made_visible",
        "test_what_servers_send_is_shown_and_never_run",
    ],
    # SECURITY.md on scriptschema
    "run code;": [
        "test_hostile_programs_are_shown_and_run_nothing",
        "test_without_a_terminal_nothing_runs_and_the_command_is_shown",
    ],
    "make a command use an amount of time or memory": [
        "test_huge_files_are_not_read_into_memory",
        "test_memory_grows_no_faster_than_the_input",
        "test_deep_unknown_groups_end_in_an_error",
        "test_nesting_without_end_is_an_error_before_memory_is_gone",
    ],
    "write outside the named folder": [
        "test_nothing_is_written_through_a_link",
        "test_a_file_with_another_name_elsewhere_is_not_appended_to",
    ],
    "insert a script into an HTML report": ["test_hostile_programs_are_shown_and_run_nothing"],
    "Before `fuzz -o`": [
        "test_on_a_terminal_the_user_is_asked",
        "test_all_that_a_campaign_runs_is_shown",
        "test_trust_is_remembered_for_the_folder_and_the_command_and_not_in_the_campaign",
    ],
    "You are asked only once": [
        "test_trust_is_remembered_for_the_folder_and_the_command_and_not_in_the_campaign",
    ],
    "Without a terminal, these commands": [
        "test_without_a_terminal_nothing_runs_and_the_command_is_shown"
    ],
    "Your answers are kept": [
        "test_trust_is_remembered_for_the_folder_and_the_command_and_not_in_the_campaign",
        "test_a_damaged_list_of_what_is_trusted_trusts_nothing",
    ],
    "A campaign that you start": ["test_who_made_a_campaign_is_not_asked"],
}


def promises() -> list[str]:
    """Return the sentences in the items of the page, and of the list in SECURITY.md."""
    texts = [PAGE.read_text("utf-8"), (ROOT / "SECURITY.md").read_text("utf-8")]
    items = [
        re.sub(r"\s+", " ", item)
        for text in texts
        for item in re.findall(r"^- (.+(?:\n  .+)*)", text, re.MULTILINE)
    ]
    return [part for item in items for part in re.split(r"(?<=[.;]) (?=[A-Z(`])", item)]


def test_each_sentence_has_tests_that_keep_it() -> None:
    found = promises()
    assert [one for one in found if not one.startswith(tuple(PROMISES))] == []
    assert [key for key in PROMISES if not any(one.startswith(key) for one in found)] == []


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    text = re.sub(r"\s+", " ", PAGE.read_text("utf-8"))
    numbers = {
        "a process that is stopped after 5 seconds": process.FIND_TIMEOUT == 5,
        "1 MiB of a body is shown": results.SHOWN == 2**20,
        "header lines exceed 256 KiB": reading.LARGEST_HEADER == 256 * 2**10,
        "At most 16 MiB of a body are read": limits.BODY_LIMIT == 16 * 2**20,
        "at most ten redirects are followed": client._MAX_REDIRECTS == 10,
        "at most 100,000 requests": limits.MOST_REQUESTS == 100_000,
        "at most 64 GiB": limits.MOST_BYTES == 64 * 2**30,
        "wait for at most an hour": job.MOST_WAIT == 3600,
    }
    assert [one for one, same in numbers.items() if one not in text or not same] == []


def test_the_tests_that_keep_promises_are_there() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    names = {
        name for file in files for name in re.findall(r"def (test_\w+)\(", file.read_text("utf-8"))
    }
    assert {name for tests in PROMISES.values() for name in tests} <= names
