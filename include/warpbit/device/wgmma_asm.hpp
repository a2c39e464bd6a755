// SPDX-License-Identifier: Apache-2.0
// How a statement of asm names the registers of an accumulator, for each number of registers that a form has.
// asm accepts only literal lists of operands.
#pragma once

// clang-format off

// ---- The numbers of registers: N / 2 of 32 bits each, or N / 4 with two f16 each; then the numbers of the
// operands that follow them.

#define WARPBIT_WGMMA_COUNTS_OF_F32(X) \
  X(4, "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11") \
  X(8, "%8", "%9", "%10", "%11", "%12", "%13", "%14", "%15") \
  X(12, "%12", "%13", "%14", "%15", "%16", "%17", "%18", "%19") \
  X(16, "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23") \
  X(20, "%20", "%21", "%22", "%23", "%24", "%25", "%26", "%27") \
  X(24, "%24", "%25", "%26", "%27", "%28", "%29", "%30", "%31") \
  X(28, "%28", "%29", "%30", "%31", "%32", "%33", "%34", "%35") \
  X(32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39") \
  X(36, "%36", "%37", "%38", "%39", "%40", "%41", "%42", "%43") \
  X(40, "%40", "%41", "%42", "%43", "%44", "%45", "%46", "%47") \
  X(44, "%44", "%45", "%46", "%47", "%48", "%49", "%50", "%51") \
  X(48, "%48", "%49", "%50", "%51", "%52", "%53", "%54", "%55") \
  X(52, "%52", "%53", "%54", "%55", "%56", "%57", "%58", "%59") \
  X(56, "%56", "%57", "%58", "%59", "%60", "%61", "%62", "%63") \
  X(60, "%60", "%61", "%62", "%63", "%64", "%65", "%66", "%67") \
  X(64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71") \
  X(68, "%68", "%69", "%70", "%71", "%72", "%73", "%74", "%75") \
  X(72, "%72", "%73", "%74", "%75", "%76", "%77", "%78", "%79") \
  X(76, "%76", "%77", "%78", "%79", "%80", "%81", "%82", "%83") \
  X(80, "%80", "%81", "%82", "%83", "%84", "%85", "%86", "%87") \
  X(84, "%84", "%85", "%86", "%87", "%88", "%89", "%90", "%91") \
  X(88, "%88", "%89", "%90", "%91", "%92", "%93", "%94", "%95") \
  X(92, "%92", "%93", "%94", "%95", "%96", "%97", "%98", "%99") \
  X(96, "%96", "%97", "%98", "%99", "%100", "%101", "%102", "%103") \
  X(100, "%100", "%101", "%102", "%103", "%104", "%105", "%106", "%107") \
  X(104, "%104", "%105", "%106", "%107", "%108", "%109", "%110", "%111") \
  X(108, "%108", "%109", "%110", "%111", "%112", "%113", "%114", "%115") \
  X(112, "%112", "%113", "%114", "%115", "%116", "%117", "%118", "%119") \
  X(116, "%116", "%117", "%118", "%119", "%120", "%121", "%122", "%123") \
  X(120, "%120", "%121", "%122", "%123", "%124", "%125", "%126", "%127") \
  X(124, "%124", "%125", "%126", "%127", "%128", "%129", "%130", "%131") \
  X(128, "%128", "%129", "%130", "%131", "%132", "%133", "%134", "%135")

#define WARPBIT_WGMMA_COUNTS_OF_F16(X) \
  X(2, "%2", "%3", "%4", "%5", "%6", "%7", "%8", "%9") \
  X(6, "%6", "%7", "%8", "%9", "%10", "%11", "%12", "%13") \
  X(10, "%10", "%11", "%12", "%13", "%14", "%15", "%16", "%17") \
  X(14, "%14", "%15", "%16", "%17", "%18", "%19", "%20", "%21") \
  X(18, "%18", "%19", "%20", "%21", "%22", "%23", "%24", "%25") \
  X(22, "%22", "%23", "%24", "%25", "%26", "%27", "%28", "%29") \
  X(26, "%26", "%27", "%28", "%29", "%30", "%31", "%32", "%33") \
  X(30, "%30", "%31", "%32", "%33", "%34", "%35", "%36", "%37") \
  X(34, "%34", "%35", "%36", "%37", "%38", "%39", "%40", "%41") \
  X(38, "%38", "%39", "%40", "%41", "%42", "%43", "%44", "%45") \
  X(42, "%42", "%43", "%44", "%45", "%46", "%47", "%48", "%49") \
  X(46, "%46", "%47", "%48", "%49", "%50", "%51", "%52", "%53") \
  X(50, "%50", "%51", "%52", "%53", "%54", "%55", "%56", "%57") \
  X(54, "%54", "%55", "%56", "%57", "%58", "%59", "%60", "%61") \
  X(58, "%58", "%59", "%60", "%61", "%62", "%63", "%64", "%65") \
  X(62, "%62", "%63", "%64", "%65", "%66", "%67", "%68", "%69")

// ---- The text of the registers

#define WARPBIT_WGMMA_TEXT_2 "%0, %1"
#define WARPBIT_WGMMA_TEXT_4 "%0, %1, %2, %3"
#define WARPBIT_WGMMA_TEXT_6 WARPBIT_WGMMA_TEXT_2 ", %2, %3, %4, %5"
#define WARPBIT_WGMMA_TEXT_8 WARPBIT_WGMMA_TEXT_4 ", %4, %5, %6, %7"
#define WARPBIT_WGMMA_TEXT_10 WARPBIT_WGMMA_TEXT_6 ", %6, %7, %8, %9"
#define WARPBIT_WGMMA_TEXT_12 WARPBIT_WGMMA_TEXT_8 ", %8, %9, %10, %11"
#define WARPBIT_WGMMA_TEXT_14 WARPBIT_WGMMA_TEXT_10 ", %10, %11, %12, %13"
#define WARPBIT_WGMMA_TEXT_16 WARPBIT_WGMMA_TEXT_12 ", %12, %13, %14, %15"
#define WARPBIT_WGMMA_TEXT_18 WARPBIT_WGMMA_TEXT_14 ", %14, %15, %16, %17"
#define WARPBIT_WGMMA_TEXT_20 WARPBIT_WGMMA_TEXT_16 ", %16, %17, %18, %19"
#define WARPBIT_WGMMA_TEXT_22 WARPBIT_WGMMA_TEXT_18 ", %18, %19, %20, %21"
#define WARPBIT_WGMMA_TEXT_24 WARPBIT_WGMMA_TEXT_20 ", %20, %21, %22, %23"
#define WARPBIT_WGMMA_TEXT_26 WARPBIT_WGMMA_TEXT_22 ", %22, %23, %24, %25"
#define WARPBIT_WGMMA_TEXT_28 WARPBIT_WGMMA_TEXT_24 ", %24, %25, %26, %27"
#define WARPBIT_WGMMA_TEXT_30 WARPBIT_WGMMA_TEXT_26 ", %26, %27, %28, %29"
#define WARPBIT_WGMMA_TEXT_32 WARPBIT_WGMMA_TEXT_28 ", %28, %29, %30, %31"
#define WARPBIT_WGMMA_TEXT_34 WARPBIT_WGMMA_TEXT_30 ", %30, %31, %32, %33"
#define WARPBIT_WGMMA_TEXT_36 WARPBIT_WGMMA_TEXT_32 ", %32, %33, %34, %35"
#define WARPBIT_WGMMA_TEXT_38 WARPBIT_WGMMA_TEXT_34 ", %34, %35, %36, %37"
#define WARPBIT_WGMMA_TEXT_40 WARPBIT_WGMMA_TEXT_36 ", %36, %37, %38, %39"
#define WARPBIT_WGMMA_TEXT_42 WARPBIT_WGMMA_TEXT_38 ", %38, %39, %40, %41"
#define WARPBIT_WGMMA_TEXT_44 WARPBIT_WGMMA_TEXT_40 ", %40, %41, %42, %43"
#define WARPBIT_WGMMA_TEXT_46 WARPBIT_WGMMA_TEXT_42 ", %42, %43, %44, %45"
#define WARPBIT_WGMMA_TEXT_48 WARPBIT_WGMMA_TEXT_44 ", %44, %45, %46, %47"
#define WARPBIT_WGMMA_TEXT_50 WARPBIT_WGMMA_TEXT_46 ", %46, %47, %48, %49"
#define WARPBIT_WGMMA_TEXT_52 WARPBIT_WGMMA_TEXT_48 ", %48, %49, %50, %51"
#define WARPBIT_WGMMA_TEXT_54 WARPBIT_WGMMA_TEXT_50 ", %50, %51, %52, %53"
#define WARPBIT_WGMMA_TEXT_56 WARPBIT_WGMMA_TEXT_52 ", %52, %53, %54, %55"
#define WARPBIT_WGMMA_TEXT_58 WARPBIT_WGMMA_TEXT_54 ", %54, %55, %56, %57"
#define WARPBIT_WGMMA_TEXT_60 WARPBIT_WGMMA_TEXT_56 ", %56, %57, %58, %59"
#define WARPBIT_WGMMA_TEXT_62 WARPBIT_WGMMA_TEXT_58 ", %58, %59, %60, %61"
#define WARPBIT_WGMMA_TEXT_64 WARPBIT_WGMMA_TEXT_60 ", %60, %61, %62, %63"
#define WARPBIT_WGMMA_TEXT_68 WARPBIT_WGMMA_TEXT_64 ", %64, %65, %66, %67"
#define WARPBIT_WGMMA_TEXT_72 WARPBIT_WGMMA_TEXT_68 ", %68, %69, %70, %71"
#define WARPBIT_WGMMA_TEXT_76 WARPBIT_WGMMA_TEXT_72 ", %72, %73, %74, %75"
#define WARPBIT_WGMMA_TEXT_80 WARPBIT_WGMMA_TEXT_76 ", %76, %77, %78, %79"
#define WARPBIT_WGMMA_TEXT_84 WARPBIT_WGMMA_TEXT_80 ", %80, %81, %82, %83"
#define WARPBIT_WGMMA_TEXT_88 WARPBIT_WGMMA_TEXT_84 ", %84, %85, %86, %87"
#define WARPBIT_WGMMA_TEXT_92 WARPBIT_WGMMA_TEXT_88 ", %88, %89, %90, %91"
#define WARPBIT_WGMMA_TEXT_96 WARPBIT_WGMMA_TEXT_92 ", %92, %93, %94, %95"
#define WARPBIT_WGMMA_TEXT_100 WARPBIT_WGMMA_TEXT_96 ", %96, %97, %98, %99"
#define WARPBIT_WGMMA_TEXT_104 WARPBIT_WGMMA_TEXT_100 ", %100, %101, %102, %103"
#define WARPBIT_WGMMA_TEXT_108 WARPBIT_WGMMA_TEXT_104 ", %104, %105, %106, %107"
#define WARPBIT_WGMMA_TEXT_112 WARPBIT_WGMMA_TEXT_108 ", %108, %109, %110, %111"
#define WARPBIT_WGMMA_TEXT_116 WARPBIT_WGMMA_TEXT_112 ", %112, %113, %114, %115"
#define WARPBIT_WGMMA_TEXT_120 WARPBIT_WGMMA_TEXT_116 ", %116, %117, %118, %119"
#define WARPBIT_WGMMA_TEXT_124 WARPBIT_WGMMA_TEXT_120 ", %120, %121, %122, %123"
#define WARPBIT_WGMMA_TEXT_128 WARPBIT_WGMMA_TEXT_124 ", %124, %125, %126, %127"

// ---- The registers as operands with a constraint

#define WARPBIT_WGMMA_D_2(how) how(d[0]), how(d[1])
#define WARPBIT_WGMMA_D_4(how) how(d[0]), how(d[1]), how(d[2]), how(d[3])
#define WARPBIT_WGMMA_D_6(how) WARPBIT_WGMMA_D_2(how), how(d[2]), how(d[3]), how(d[4]), how(d[5])
#define WARPBIT_WGMMA_D_8(how) WARPBIT_WGMMA_D_4(how), how(d[4]), how(d[5]), how(d[6]), how(d[7])
#define WARPBIT_WGMMA_D_10(how) WARPBIT_WGMMA_D_6(how), how(d[6]), how(d[7]), how(d[8]), how(d[9])
#define WARPBIT_WGMMA_D_12(how) WARPBIT_WGMMA_D_8(how), how(d[8]), how(d[9]), how(d[10]), how(d[11])
#define WARPBIT_WGMMA_D_14(how) WARPBIT_WGMMA_D_10(how), how(d[10]), how(d[11]), how(d[12]), how(d[13])
#define WARPBIT_WGMMA_D_16(how) WARPBIT_WGMMA_D_12(how), how(d[12]), how(d[13]), how(d[14]), how(d[15])
#define WARPBIT_WGMMA_D_18(how) WARPBIT_WGMMA_D_14(how), how(d[14]), how(d[15]), how(d[16]), how(d[17])
#define WARPBIT_WGMMA_D_20(how) WARPBIT_WGMMA_D_16(how), how(d[16]), how(d[17]), how(d[18]), how(d[19])
#define WARPBIT_WGMMA_D_22(how) WARPBIT_WGMMA_D_18(how), how(d[18]), how(d[19]), how(d[20]), how(d[21])
#define WARPBIT_WGMMA_D_24(how) WARPBIT_WGMMA_D_20(how), how(d[20]), how(d[21]), how(d[22]), how(d[23])
#define WARPBIT_WGMMA_D_26(how) WARPBIT_WGMMA_D_22(how), how(d[22]), how(d[23]), how(d[24]), how(d[25])
#define WARPBIT_WGMMA_D_28(how) WARPBIT_WGMMA_D_24(how), how(d[24]), how(d[25]), how(d[26]), how(d[27])
#define WARPBIT_WGMMA_D_30(how) WARPBIT_WGMMA_D_26(how), how(d[26]), how(d[27]), how(d[28]), how(d[29])
#define WARPBIT_WGMMA_D_32(how) WARPBIT_WGMMA_D_28(how), how(d[28]), how(d[29]), how(d[30]), how(d[31])
#define WARPBIT_WGMMA_D_34(how) WARPBIT_WGMMA_D_30(how), how(d[30]), how(d[31]), how(d[32]), how(d[33])
#define WARPBIT_WGMMA_D_36(how) WARPBIT_WGMMA_D_32(how), how(d[32]), how(d[33]), how(d[34]), how(d[35])
#define WARPBIT_WGMMA_D_38(how) WARPBIT_WGMMA_D_34(how), how(d[34]), how(d[35]), how(d[36]), how(d[37])
#define WARPBIT_WGMMA_D_40(how) WARPBIT_WGMMA_D_36(how), how(d[36]), how(d[37]), how(d[38]), how(d[39])
#define WARPBIT_WGMMA_D_42(how) WARPBIT_WGMMA_D_38(how), how(d[38]), how(d[39]), how(d[40]), how(d[41])
#define WARPBIT_WGMMA_D_44(how) WARPBIT_WGMMA_D_40(how), how(d[40]), how(d[41]), how(d[42]), how(d[43])
#define WARPBIT_WGMMA_D_46(how) WARPBIT_WGMMA_D_42(how), how(d[42]), how(d[43]), how(d[44]), how(d[45])
#define WARPBIT_WGMMA_D_48(how) WARPBIT_WGMMA_D_44(how), how(d[44]), how(d[45]), how(d[46]), how(d[47])
#define WARPBIT_WGMMA_D_50(how) WARPBIT_WGMMA_D_46(how), how(d[46]), how(d[47]), how(d[48]), how(d[49])
#define WARPBIT_WGMMA_D_52(how) WARPBIT_WGMMA_D_48(how), how(d[48]), how(d[49]), how(d[50]), how(d[51])
#define WARPBIT_WGMMA_D_54(how) WARPBIT_WGMMA_D_50(how), how(d[50]), how(d[51]), how(d[52]), how(d[53])
#define WARPBIT_WGMMA_D_56(how) WARPBIT_WGMMA_D_52(how), how(d[52]), how(d[53]), how(d[54]), how(d[55])
#define WARPBIT_WGMMA_D_58(how) WARPBIT_WGMMA_D_54(how), how(d[54]), how(d[55]), how(d[56]), how(d[57])
#define WARPBIT_WGMMA_D_60(how) WARPBIT_WGMMA_D_56(how), how(d[56]), how(d[57]), how(d[58]), how(d[59])
#define WARPBIT_WGMMA_D_62(how) WARPBIT_WGMMA_D_58(how), how(d[58]), how(d[59]), how(d[60]), how(d[61])
#define WARPBIT_WGMMA_D_64(how) WARPBIT_WGMMA_D_60(how), how(d[60]), how(d[61]), how(d[62]), how(d[63])
#define WARPBIT_WGMMA_D_68(how) WARPBIT_WGMMA_D_64(how), how(d[64]), how(d[65]), how(d[66]), how(d[67])
#define WARPBIT_WGMMA_D_72(how) WARPBIT_WGMMA_D_68(how), how(d[68]), how(d[69]), how(d[70]), how(d[71])
#define WARPBIT_WGMMA_D_76(how) WARPBIT_WGMMA_D_72(how), how(d[72]), how(d[73]), how(d[74]), how(d[75])
#define WARPBIT_WGMMA_D_80(how) WARPBIT_WGMMA_D_76(how), how(d[76]), how(d[77]), how(d[78]), how(d[79])
#define WARPBIT_WGMMA_D_84(how) WARPBIT_WGMMA_D_80(how), how(d[80]), how(d[81]), how(d[82]), how(d[83])
#define WARPBIT_WGMMA_D_88(how) WARPBIT_WGMMA_D_84(how), how(d[84]), how(d[85]), how(d[86]), how(d[87])
#define WARPBIT_WGMMA_D_92(how) WARPBIT_WGMMA_D_88(how), how(d[88]), how(d[89]), how(d[90]), how(d[91])
#define WARPBIT_WGMMA_D_96(how) WARPBIT_WGMMA_D_92(how), how(d[92]), how(d[93]), how(d[94]), how(d[95])
#define WARPBIT_WGMMA_D_100(how) WARPBIT_WGMMA_D_96(how), how(d[96]), how(d[97]), how(d[98]), how(d[99])
#define WARPBIT_WGMMA_D_104(how) WARPBIT_WGMMA_D_100(how), how(d[100]), how(d[101]), how(d[102]), how(d[103])
#define WARPBIT_WGMMA_D_108(how) WARPBIT_WGMMA_D_104(how), how(d[104]), how(d[105]), how(d[106]), how(d[107])
#define WARPBIT_WGMMA_D_112(how) WARPBIT_WGMMA_D_108(how), how(d[108]), how(d[109]), how(d[110]), how(d[111])
#define WARPBIT_WGMMA_D_116(how) WARPBIT_WGMMA_D_112(how), how(d[112]), how(d[113]), how(d[114]), how(d[115])
#define WARPBIT_WGMMA_D_120(how) WARPBIT_WGMMA_D_116(how), how(d[116]), how(d[117]), how(d[118]), how(d[119])
#define WARPBIT_WGMMA_D_124(how) WARPBIT_WGMMA_D_120(how), how(d[120]), how(d[121]), how(d[122]), how(d[123])
#define WARPBIT_WGMMA_D_128(how) WARPBIT_WGMMA_D_124(how), how(d[124]), how(d[125]), how(d[126]), how(d[127])
// clang-format on
